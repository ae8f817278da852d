"""Collecting a module's state and putting it back: layout, validation before change, hooks, extra state."""

import gc
import warnings
from collections import OrderedDict

import pytest

import polyad
from polyad import nn


def make():
    return nn.Sequential(OrderedDict(fc=nn.Linear(2, 3), norm=nn.BatchNorm1d(3), head=nn.Sequential(nn.Linear(3, 1))))


def values(module):
    return {key: value.tolist() for key, value in module.state_dict().items()}


class TestSaving:
    def test_keys_and_order(self):
        state = make().state_dict()
        assert isinstance(state, OrderedDict)
        assert list(state) == [
            "fc.weight",
            "fc.bias",
            "norm.weight",
            "norm.bias",
            "norm.running_mean",
            "norm.running_var",
            "norm.num_batches_tracked",
            "head.0.weight",
            "head.0.bias",
        ]

    def test_versions_are_kept_beside(self):
        assert make().state_dict(prefix="net.")._metadata == {
            "net": {"version": 1},
            "net.fc": {"version": 1},
            "net.norm": {"version": 2},
            "net.head": {"version": 1},
            "net.head.0": {"version": 1},
        }

    def test_prefix_and_destination(self):
        destination = OrderedDict(other=1)
        state = nn.Linear(1, 1).state_dict(destination=destination, prefix="net.")
        assert state is destination
        assert list(state) == ["other", "net.weight", "net.bias"]

    def test_values_share_memory_and_have_no_history(self):
        layer = nn.Linear(1, 1)
        state = layer.state_dict()
        assert not state["weight"].requires_grad
        with polyad.no_grad():
            layer.weight.fill_(7.0)
        assert state["weight"].tolist() == [[7.0]]

    def test_keep_vars(self):
        layer = nn.Linear(1, 1)
        assert layer.state_dict(keep_vars=True)["weight"] is layer.weight

    def test_absent_and_unsaved_members_are_left_out(self):
        layer = nn.Linear(1, 1, bias=False)
        layer.register_buffer("scratch", polyad.zeros(1), persistent=False)
        layer.register_buffer("nothing", None)
        assert list(layer.state_dict()) == ["weight"]


class TestLoading:
    def test_round_trip(self):
        source, target = make(), make()
        result = target.load_state_dict(source.state_dict())
        assert repr(result) == "<All keys matched successfully>"
        assert values(source) == values(target)
        assert target.fc.weight is not source.fc.weight

    def test_parameters_stay_the_same_objects(self):
        target = make()
        weight = target.fc.weight
        target.load_state_dict(make().state_dict())
        assert target.fc.weight is weight
        assert weight.requires_grad
        assert weight.is_leaf

    def test_values_are_cast_to_the_module(self):
        target = nn.Linear(2, 3)
        target.load_state_dict(nn.Linear(2, 3).double().state_dict())
        assert target.weight.dtype == polyad.float32

    def test_everything_wrong_is_listed_and_nothing_changed(self):
        target = make()
        state = make().state_dict()
        del state["fc.bias"]
        state["extra.weight"] = polyad.zeros(1)
        state["fc.more"] = polyad.zeros(1)
        state["head.0.weight"] = polyad.zeros(5, 5)
        state["norm.bias"] = 3
        before = values(target)
        with pytest.raises(RuntimeError) as caught:
            target.load_state_dict(state)
        message = str(caught.value)
        assert "missing key(s)" in message
        assert "fc.bias" in message
        assert "extra.weight, fc.more" in message or "fc.more, extra.weight" in message
        assert "size mismatch for head.0.weight" in message
        assert "(5, 5) in the state, (1, 3) in the module" in message
        assert "norm.bias" in message
        assert "fix" in message
        assert caught.value.missing_keys == ["fc.bias"]
        assert set(caught.value.unexpected_keys) == {"extra.weight", "fc.more"}
        assert values(target) == before

    def test_last_problem_found_leaves_the_first_module_alone(self):
        target = make()
        state = make().state_dict()
        state["head.0.bias"] = polyad.zeros(9)
        before = values(target)
        with pytest.raises(RuntimeError, match=r"size mismatch for head\.0\.bias"):
            target.load_state_dict(state)
        assert values(target) == before

    def test_not_strict(self):
        target = make()
        bias = target.fc.bias.tolist()
        result = target.load_state_dict({"fc.weight": polyad.zeros(3, 2), "odd": polyad.zeros(1)}, strict=False)
        assert target.fc.weight.tolist() == [[0.0, 0.0]] * 3
        assert target.fc.bias.tolist() == bias
        assert result.unexpected_keys == ["odd"]
        assert "fc.bias" in result.missing_keys

    def test_shapes_matter_even_if_not_strict(self):
        target = nn.Linear(1, 1)
        before = values(target)
        with pytest.raises(RuntimeError, match="size mismatch for bias") as caught:
            target.load_state_dict({"weight": polyad.zeros(1, 1), "bias": polyad.zeros(())}, strict=False)
        assert "missing" not in str(caught.value)
        assert values(target) == before

    def test_complex_into_real(self):
        target = nn.Linear(1, 1, bias=False)
        with pytest.raises(RuntimeError, match="dtype mismatch for weight"):
            target.load_state_dict({"weight": polyad.zeros(1, 1, dtype=polyad.complex64)})

    def test_wrong_type(self):
        with pytest.raises(TypeError, match="state_dict is list, not a dict"):
            nn.Linear(1, 1).load_state_dict([1])

    def test_prefixes_are_recognised(self):
        state = {f"module.{key}": value for key, value in nn.Linear(1, 1).state_dict().items()}
        with pytest.raises(RuntimeError, match=r"'module\.': take that prefix off"):
            nn.Linear(1, 1).load_state_dict(state)
        with pytest.raises(RuntimeError, match=r"lack the prefix '0\.'"):
            nn.Sequential(nn.Linear(1, 1)).load_state_dict(nn.Linear(1, 1).state_dict())

    def test_the_given_state_is_not_changed(self):
        state = {"weight": polyad.zeros(2), "bias": polyad.zeros(2)}
        nn.BatchNorm1d(2).load_state_dict(state, strict=False)
        assert list(state) == ["weight", "bias"]

    def test_assign(self):
        target = nn.BatchNorm1d(2)
        target.weight.requires_grad_(False)
        state = nn.BatchNorm1d(2).double().state_dict()
        target.load_state_dict(state, assign=True)
        assert isinstance(target.weight, nn.Parameter)
        assert target.weight.dtype == polyad.float64
        assert not target.weight.requires_grad
        assert target.bias.requires_grad
        assert target.running_mean is state["running_mean"]
        given = nn.Parameter(polyad.zeros(2))
        target.load_state_dict({**state, "bias": given}, assign=True)
        assert target.bias is given

    def test_older_batch_norm_without_a_counter(self):
        state = nn.BatchNorm1d(2).state_dict()
        del state["num_batches_tracked"]
        with pytest.raises(RuntimeError, match="num_batches_tracked"):
            nn.BatchNorm1d(2).load_state_dict(state)
        state._metadata[""]["version"] = 1
        nn.BatchNorm1d(2).load_state_dict(state)
        nn.BatchNorm1d(2).load_state_dict(dict(state))

    def test_long_lists_are_cut(self):
        with pytest.raises(RuntimeError, match="and 10 more"):
            nn.Identity().load_state_dict({f"key{number}": polyad.zeros(1) for number in range(30)})


class TestExtraState:
    class Counter(nn.Module):
        def __init__(self, count=0):
            super().__init__()
            self.count = count

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    def test_round_trip(self):
        state = nn.Sequential(self.Counter(5)).state_dict()
        assert state == {"0._extra_state": {"count": 5}}
        target = nn.Sequential(self.Counter())
        target.load_state_dict(state)
        assert target[0].count == 5

    def test_missing_and_unexpected(self):
        with pytest.raises(RuntimeError, match=r"missing key\(s\) .*_extra_state"):
            self.Counter().load_state_dict({})
        with pytest.raises(RuntimeError, match=r"unexpected key\(s\) .*_extra_state"):
            nn.Identity().load_state_dict({"_extra_state": 1})

    def test_not_set_if_something_else_is_wrong(self):
        target = nn.Sequential(self.Counter(1), nn.Linear(1, 1))
        with pytest.raises(RuntimeError):
            target.load_state_dict({"0._extra_state": {"count": 9}})
        assert target[0].count == 1

    def test_tensors_are_not_written_if_it_fails(self):
        target = nn.Sequential(self.Counter(1), nn.Linear(1, 1))
        state = nn.Sequential(self.Counter(2), nn.Linear(1, 1)).state_dict()
        state["0._extra_state"] = {}
        before = target[1].weight.tolist()
        with pytest.raises(KeyError):
            target.load_state_dict(state)
        assert target[1].weight.tolist() == before


class TestHooks:
    def test_saving(self):
        seen = []
        model = nn.Sequential(nn.Linear(1, 1))
        model.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append((prefix, keep_vars)))
        model.register_state_dict_post_hook(
            lambda module, state, prefix, metadata: seen.append((list(state), metadata)) or state.update(note=1)
        )
        assert list(model.state_dict()) == ["0.weight", "0.bias", "note"]
        assert seen == [("", False), (["0.weight", "0.bias"], {"version": 1})]

    def test_save_hook_must_return_none(self):
        layer = nn.Linear(1, 1)
        layer.register_state_dict_post_hook(lambda *args: {})
        with pytest.raises(RuntimeError, match="must return None"):
            layer.state_dict()

    def test_load_pre_hook_may_rename_keys(self):
        def rename(module, state, prefix, *rest):
            state[prefix + "weight"] = state.pop(prefix + "w")

        model = nn.Sequential(nn.Linear(1, 1, bias=False))
        model[0].register_load_state_dict_pre_hook(rename)
        model.load_state_dict({"0.w": polyad.zeros(1, 1)})
        assert model[0].weight.tolist() == [[0.0]]

    def test_load_post_hook_sees_the_loaded_values(self):
        seen = []
        layer = nn.Linear(1, 1, bias=False)
        layer.register_load_state_dict_post_hook(lambda module, keys: seen.append(module.weight.item()))
        layer.load_state_dict({"weight": polyad.zeros(1, 1)})
        assert seen == [0.0]

    def test_load_post_hook_may_forgive(self):
        layer = nn.Linear(1, 1)
        handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        layer.load_state_dict({"weight": polyad.zeros(1, 1)})
        assert layer.weight.tolist() == [[0.0]]
        handle.remove()
        with pytest.raises(RuntimeError, match="bias"):
            layer.load_state_dict({"weight": polyad.zeros(1, 1)})

    def test_load_post_hook_must_return_none(self):
        layer = nn.Linear(1, 1)
        layer.register_load_state_dict_post_hook(lambda module, keys: keys)
        with pytest.raises(RuntimeError, match="must return None"):
            layer.load_state_dict(layer.state_dict())


class TestTensorsThatAreShared:
    def tied(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        model[1].weight = model[0].weight
        return model

    def test_two_values_for_them_are_told(self):
        model, state = self.tied(), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).state_dict()
        with pytest.warns(UserWarning, match=r"0\.weight and 1\.weight are the same tensor .* gets that of 1\.weight"):
            model.load_state_dict(state)
        assert model[0].weight.tolist() == state["1.weight"].tolist()

    @pytest.mark.parametrize("value", [1.0, float("nan")])
    def test_equal_values_are_not(self, value):
        model = self.tied()
        state = {key: polyad.full_like(tensor, value) for key, tensor in model.state_dict().items()}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.load_state_dict(state)
            model.load_state_dict(self.tied().state_dict())


def test_values_that_are_no_tensors_are_told_with_what_to_do():
    with pytest.raises(RuntimeError, match=r"(?s)no tensor for weight +the state has list.*fix +make tensors of these"):
        nn.Linear(2, 1, bias=False).load_state_dict({"weight": [[1.0, 2.0]]})


def test_a_number_saved_with_a_dimension_loads():
    layer = nn.BatchNorm1d(2)
    layer.load_state_dict({**layer.state_dict(), "num_batches_tracked": polyad.tensor([3])})
    assert layer.num_batches_tracked.tolist() == 3
    layer.load_state_dict({**layer.state_dict(), "num_batches_tracked": polyad.tensor([4])}, assign=True)
    assert layer.num_batches_tracked.shape == ()


def test_loading_leaves_nothing_in_cycles():
    model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(5)])
    state = model.state_dict()
    model.load_state_dict(state)
    gc.collect()
    gc.disable()
    try:
        model.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_keys_that_a_post_hook_adds_are_an_error_when_strict():
    inner = nn.Linear(1, 1)
    inner.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("added"))
    outer = nn.ModuleList([inner])
    assert outer.load_state_dict(outer.state_dict(), strict=False).missing_keys == ["added"]
    with pytest.raises(RuntimeError, match=r"it was written[\s\S]*added"):
        outer.load_state_dict(outer.state_dict())
