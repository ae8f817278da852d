"""``nn.utils``: what is refused, and that nothing is half changed then. Values are compared with PyTorch's in the
oracle session.
"""

import copy
import pickle
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import pytest

import polyad
from polyad import nn
from polyad.errors import ArgumentTypeError, ShapeError
from polyad.nn.modules import batchnorm
from polyad.nn.utils import parametrizations, parametrize, prune


def state_of(module):
    return {name: value.tolist() for name, value in module.state_dict().items()}


class TestClipping:
    def parameters(self, *gradients):
        made = [nn.Parameter(polyad.zeros(len(one))) for one in gradients]
        for parameter, gradient in zip(made, gradients):
            parameter.grad = polyad.tensor(gradient)
        return made

    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_gradients_that_are_not_finite_stay_as_they_are_where_that_is_an_error(self, bad):
        parameters = self.parameters([3.0, bad], [4.0])
        with pytest.raises(RuntimeError, match=r"norm of order 2.0 of the gradients is (nan|inf)"):
            nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
        assert parameters[1].grad.tolist() == [4.0]

    def test_no_parameters_warn_and_give_zero(self):
        with pytest.warns(UserWarning, match="no parameters"):
            assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
        assert nn.utils.clip_grad_norm_([nn.Parameter(polyad.zeros(1))], 1.0).item() == 0

    def test_a_generator_is_used_up_once(self):
        (parameter,) = self.parameters([3.0, 4.0])
        assert nn.utils.clip_grad_norm_((one for one in [parameter]), 1.0).item() == 5
        assert parameter.grad.norm().item() == pytest.approx(1)

    def test_what_is_no_parameter(self):
        for call in (nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_):
            with pytest.raises(TypeError, match="parameters must be a tensor or tensors"):
                call(3, 1.0)

    def test_the_older_name_warns(self):
        with pytest.warns(FutureWarning, match="clip_grad_norm_"):
            nn.utils.clip_grad_norm(self.parameters([1.0]), 1.0)


def test_vectors_are_checked_before_the_first_parameter_changes():
    layer = nn.Linear(2, 2)
    before = state_of(layer)
    with pytest.raises(RuntimeError, match="have 6 elements, vec has 5"):
        nn.utils.vector_to_parameters(polyad.zeros(5), layer.parameters())
    with pytest.raises(TypeError, match="vec is list, not a Tensor"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())
    assert state_of(layer) == before


def test_fusion_wants_evaluation_and_running_values():
    conv, norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
    with pytest.raises(AssertionError, match="evaluation mode"):
        nn.utils.fuse_conv_bn_eval(conv, norm)
    with pytest.raises(AssertionError, match="no running mean"):
        nn.utils.fuse_conv_bn_eval(conv.eval(), nn.BatchNorm2d(2, track_running_stats=False).eval())
    with pytest.raises(AssertionError, match="3 features"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(2, 2).eval(), nn.BatchNorm1d(3).eval())


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


class Half(nn.Module):
    def forward(self, x):
        return x[:1]


class TestParametrize:
    def test_what_does_not_fit_leaves_the_module_as_it_was(self):
        layer = nn.Linear(3, 3)
        weight, before = layer.weight, state_of(layer)
        with pytest.raises(ValueError, match=r"Half.forward must keep dtype and shape"):
            parametrize.register_parametrization(layer, "weight", Half())
        with pytest.raises(ValueError, match="has no parameter or buffer 'wieght'"):
            parametrize.register_parametrization(layer, "wieght", Symmetric())
        assert type(layer) is nn.Linear
        assert layer.weight is weight
        assert state_of(layer) == before
        parametrize.register_parametrization(layer, "weight", Symmetric())
        with pytest.raises(ValueError, match=r"Half.forward must keep dtype and shape"):
            parametrize.register_parametrization(layer, "weight", Half())
        assert len(layer.parametrizations.weight) == 1
        parametrize.register_parametrization(layer, "weight", Half(), unsafe=True)
        assert layer.weight.shape == (1, 3)

    def test_an_optimizer_that_holds_the_parameter_trains_it(self):
        layer = nn.Linear(3, 3)
        optimizer = polyad.optim.SGD(layer.parameters(), lr=0.1)
        parametrize.register_parametrization(layer, "weight", Symmetric())
        before = layer.weight.detach()
        layer(polyad.ones(2, 3)).sum().backward()
        optimizer.step()
        assert not polyad.equal(layer.weight, before)
        assert polyad.equal(layer.weight, layer.weight.T)

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
    def test_copies_are_independent(self, copied):
        layer = parametrizations.weight_norm(nn.Linear(3, 2))
        twin = copied(layer)
        assert repr(twin) == repr(layer)
        assert polyad.equal(twin.weight, layer.weight)
        parametrize.remove_parametrizations(twin, "weight")
        assert type(twin) is nn.Linear
        assert parametrize.is_parametrized(layer, "weight")
        assert layer(polyad.ones(1, 3)).shape == (1, 2)

    def test_assignment_needs_a_right_inverse(self):
        layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
        with pytest.raises(RuntimeError, match="no right_inverse"):
            layer.weight = polyad.ones(3, 3)

    def test_removal(self):
        layer = parametrizations.weight_norm(nn.Linear(3, 2))
        with pytest.raises(ValueError, match="none of which is the tensor"):
            parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        with pytest.raises(ValueError, match="'bias' of ParametrizedLinear is not parametrized"):
            parametrize.remove_parametrizations(layer, "bias")
        assert isinstance(parametrize.remove_parametrizations(layer, "weight").weight, nn.Parameter)

    @pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
    @pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
    def test_orthogonal_stays_so_while_it_is_trained(self, shape, kind):
        layer = parametrizations.orthogonal(nn.Linear(*shape, dtype=polyad.float64), orthogonal_map=kind)
        optimizer = polyad.optim.SGD(layer.parameters(), lr=0.5)
        before = layer.weight.detach()
        for _ in range(3):
            optimizer.zero_grad()
            (layer(polyad.ones(2, shape[0], dtype=polyad.float64)) ** 2).sum().backward()
            optimizer.step()
        weight = layer.weight.detach()
        product = weight @ weight.T if shape[0] > shape[1] else weight.T @ weight
        assert polyad.allclose(product, polyad.eye(min(shape), dtype=polyad.float64))
        assert not polyad.allclose(weight, before)

    def test_spectral_norm_finds_the_largest_singular_value(self):
        layer = parametrizations.spectral_norm(nn.Conv2d(2, 4, 3, dtype=polyad.float64), n_power_iterations=50)
        assert polyad.linalg.svdvals(layer.weight.detach().flatten(1))[0].item() == pytest.approx(1, abs=1e-3)
        with pytest.raises(ValueError, match="n_power_iterations must be an int of at least 1"):
            parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


class TestPrune:
    @pytest.mark.parametrize(
        ("make", "error"),
        [
            (lambda layer: prune.l1_unstructured(layer, "weight", 7), ValueError),
            (lambda layer: prune.l1_unstructured(layer, "weight", -1), ValueError),
            (lambda layer: prune.l1_unstructured(layer, "weight", 1.5), ValueError),
            (lambda layer: prune.l1_unstructured(layer, "weight", "x"), TypeError),
            (lambda layer: prune.l1_unstructured(layer, "wieght", 1), ValueError),
            (lambda layer: prune.ln_structured(layer, "bias", 1, 2, 0), ValueError),
            (lambda layer: prune.ln_structured(layer, "weight", 1, 2, 2), IndexError),
            (lambda layer: prune.custom_from_mask(layer, "weight", polyad.ones(2)), RuntimeError),
            (lambda layer: prune.remove(layer, "weight"), ValueError),
            (
                lambda layer: prune.global_unstructured([(layer, "weight")], prune.LnStructured, amount=1, n=2),
                TypeError,
            ),
        ],
    )
    def test_what_is_refused_changes_nothing(self, make, error):
        layer = nn.Linear(2, 3)
        before = state_of(layer)
        with pytest.raises(error):
            make(layer)
        assert state_of(layer) == before
        assert isinstance(layer.weight, nn.Parameter)
        assert not prune.is_pruned(layer)

    def test_amounts(self):
        layer = prune.random_unstructured(nn.Linear(10, 10), "weight", 0.25)
        assert (layer.weight_mask == 0).sum().item() == 25
        prune.random_unstructured(layer, "weight", 0.2)
        assert (layer.weight_mask == 0).sum().item() == 40
        prune.random_structured(layer, "weight", 3, dim=0)
        assert (layer.weight_mask.sum(1) == 0).sum().item() == 3

    def test_masked_elements_are_not_trained(self):
        layer = prune.l1_unstructured(nn.Linear(4, 4), "weight", 0.5)
        optimizer = polyad.optim.SGD(layer.parameters(), lr=0.1)
        layer(polyad.ones(1, 4)).sum().backward()
        optimizer.step()
        layer(polyad.ones(1, 4))
        assert polyad.equal(layer.weight == 0, layer.weight_mask == 0)

    def test_it_is_copied_and_saved(self):
        layer = prune.l1_unstructured(nn.Linear(4, 2), "weight", 0.5)
        layer.weight = layer.weight.detach()
        twin = copy.deepcopy(layer)
        assert prune.is_pruned(twin)
        fresh = prune.identity(nn.Linear(4, 2), "weight")
        fresh.load_state_dict(layer.state_dict())
        x = polyad.ones(1, 4)
        assert polyad.equal(fresh(x), layer(x))
        assert polyad.equal(twin(x), layer(x))


class TestOlderNormalisation:
    def test_twice_is_refused(self):
        with pytest.warns(FutureWarning):
            layer = nn.utils.weight_norm(nn.Linear(2, 2))
        with pytest.raises(RuntimeError, match="has it already"):
            nn.utils.weight_norm(layer)
        spectral = nn.utils.spectral_norm(nn.Linear(2, 2))
        with pytest.raises(RuntimeError, match="has it already"):
            nn.utils.spectral_norm(spectral)
        for remove in (nn.utils.remove_weight_norm, nn.utils.remove_spectral_norm):
            with pytest.raises(ValueError, match="'bias' has no"):
                remove(layer, "bias")

    def test_a_state_of_the_first_version_is_read(self):
        layer = nn.utils.spectral_norm(nn.Linear(3, 2))
        layer(polyad.ones(1, 3))
        layer.eval()
        layer(polyad.ones(1, 3))
        state = OrderedDict(layer.state_dict())
        state["weight"] = layer.weight.detach()
        del state["weight_v"]
        fresh = nn.utils.spectral_norm(nn.Linear(3, 2)).eval()
        fresh.load_state_dict(state)
        x = polyad.ones(1, 3)
        assert polyad.allclose(fresh(x), layer(x), atol=1e-5)


class TestDataParallel:
    def test_parts_of_the_batch_give_the_whole_and_its_gradients(self):
        layer = nn.Linear(3, 2)
        both = nn.DataParallel(layer, device_ids=["cpu", "cpu"])
        x = polyad.randn(5, 3)
        both(x).square().sum().backward()
        gradient, layer.weight.grad = layer.weight.grad, None
        layer(x).square().sum().backward()
        assert polyad.allclose(gradient, layer.weight.grad)
        assert list(both.state_dict()) == ["module.weight", "module.bias"]

    def test_nested_inputs_and_results(self):
        class Several(nn.Module):
            def forward(self, pair, *, scale, flag):
                assert flag == "x"
                return {"sum": pair[0] + pair[1] * scale, "rows": [polyad.tensor(len(pair[0]))]}

        both = nn.DataParallel(Several(), device_ids=["cpu", "cpu"])
        result = both((polyad.ones(5, 2), polyad.ones(5, 2)), scale=2, flag="x")
        assert result["sum"].tolist() == [[3.0, 3.0]] * 5
        assert result["rows"][0].tolist() == [3, 2]
        assert both((polyad.ones(1, 2), polyad.ones(1, 2)), scale=2, flag="x")["rows"][0].item() == 1

    def test_a_module_on_another_device(self):
        with pytest.raises(RuntimeError, match="weight is on meta"):
            nn.DataParallel(nn.Linear(2, 2, device="meta"), device_ids=["cpu"])(polyad.ones(1, 2))


class TestSyncBatchNorm:
    @pytest.fixture
    def in_two(self, monkeypatch):
        """Runs modules in two threads, each with a half of the batch, which exchange as processes do."""
        barrier, given = threading.Barrier(2, timeout=30), {}

        def all_reduce(sums, group):
            given[threading.get_ident()] = sums
            barrier.wait()
            total = sum(given[key] for key in sorted(given))
            barrier.wait()
            return total

        def run(layers, x):
            with ThreadPoolExecutor(2) as pool:
                return polyad.cat(list(pool.map(lambda layer, part: layer(part), layers, x.chunk(2))))

        for name, function in (
            ("is_initialized", lambda: True),
            ("get_world_size", lambda group: 2),
            ("all_reduce", all_reduce),
        ):
            monkeypatch.setattr(batchnorm, name, function)
        return run

    @pytest.mark.parametrize("far", [0, 4096], ids=["around 0", "far from 0"])
    @pytest.mark.parametrize("dtype", [polyad.float64, polyad.float32, polyad.float16])
    def test_its_exchange_gives_the_results_of_the_whole_batch(self, in_two, dtype, far):
        x = (polyad.randn(8, 3, 4, dtype=polyad.float64) * 16 + far).to(dtype).requires_grad_()
        whole, parts = nn.BatchNorm1d(3).double(), [nn.SyncBatchNorm(3).to(dtype) for _ in range(2)]
        factors = polyad.randn(8, 3, 4, dtype=polyad.float64)
        expected = whole(x.double())
        (wanted,) = polyad.autograd.grad((expected * factors).sum(), x)
        result = in_two(parts, x)
        (gradient,) = polyad.autograd.grad((result * factors).sum(), x)
        close = {polyad.float64: 1e-9, polyad.float32: 1e-3, polyad.float16: 4e-3}[dtype]
        assert result.dtype is dtype
        polyad.testing.assert_close(result.double(), expected, atol=close, rtol=close)
        polyad.testing.assert_close(gradient, wanted, atol=close, rtol=close)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            polyad.testing.assert_close(
                getattr(parts[0], name).double(), getattr(whole, name).double(), atol=0, rtol=close
            )

    def test_batches_of_more_values_than_half_types_count(self, in_two):
        x = polyad.randn(4, 1, 40000).half()
        result = in_two([nn.SyncBatchNorm(1).half() for _ in range(2)], x)
        polyad.testing.assert_close(result, nn.BatchNorm1d(1).half()(x), atol=4e-3, rtol=4e-3)

    def test_conversion_keeps_parameters_and_settings(self):
        model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2, eps=0.1)).eval()
        norm = model[1]
        converted = nn.SyncBatchNorm.convert_sync_batchnorm(model, "group")
        assert converted is model
        assert (converted[1].weight is norm.weight, converted[1].eps, converted[1].training) == (True, 0.1, False)
        assert converted[1].process_group == "group"


def test_a_transposed_weight_is_told():
    with pytest.raises(RuntimeError, match=r"its transpose\n.*load state\[key\].T"):
        nn.Linear(3, 2).load_state_dict({"weight": polyad.zeros(3, 2), "bias": polyad.zeros(2)})


def test_a_module_takes_a_memory_format():
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Linear(3, 2)).to(memory_format=polyad.channels_last)
    assert model[0].weight.is_contiguous(memory_format=polyad.channels_last)
    assert model[1].weight.is_contiguous()
    with pytest.raises(TypeError, match="memory_format is str, not a memory format"):
        model.to(memory_format="channels_last")


def test_older_names():
    x = polyad.autograd.Variable(polyad.ones(2), requires_grad=True)
    assert isinstance(x, polyad.autograd.Variable)
    assert x.requires_grad
    with pytest.raises(TypeError, match="data must be a tensor"):
        polyad.autograd.Variable(3)
    assert polyad.torch_api_version.startswith("2.")
    seen = []
    layer = nn.Linear(1, 1)
    layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append(prefix))
    layer.load_state_dict(layer.state_dict())
    with pytest.warns(FutureWarning, match="positional"):
        assert list(layer.state_dict(OrderedDict(), "a.")) == ["a.weight", "a.bias"]
    assert seen == [""]


NO_MODULES = {
    "weight_norm": lambda utils, other: utils.weight_norm(other),
    "spectral_norm": lambda utils, other: utils.spectral_norm(other),
    "remove_weight_norm": lambda utils, other: utils.remove_weight_norm(other),
    "convert": lambda utils, other: utils.convert_conv2d_weight_memory_format(other, polyad.channels_last),
    "fuse_conv_bn_eval": lambda utils, other: utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1).eval(), other),
    "fuse_linear_bn_eval": lambda utils, other: utils.fuse_linear_bn_eval(other, nn.BatchNorm1d(1).eval()),
    "DataParallel": lambda utils, other: nn.DataParallel(other),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("other", [0, polyad.Tensor, None], ids=["int", "class", "None"])
@pytest.mark.parametrize("call", NO_MODULES.values(), ids=NO_MODULES)
def test_what_is_no_module_is_refused(call, other) -> None:
    with pytest.raises((TypeError, RuntimeError), match=r"not a Module|linear gives"):
        call(nn.utils, other)


def test_clip_grad_norm_takes_infinity_by_its_name():
    weight = nn.Parameter(polyad.zeros(2))
    weight.grad = polyad.tensor([3.0, 4.0])
    assert nn.utils.clip_grad_norm_(weight, 1.0, "inf").item() == 4.0
    assert weight.grad.tolist() == pytest.approx([0.75, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda one: nn.utils.fuse_conv_bn_weights(0, None, one, one, 1e-5, None, None),
        lambda one: nn.utils.fuse_conv_bn_weights(polyad.ones(1, 1, 1), 3, one, one, 1e-5, None, None),
        lambda one: nn.utils.fuse_conv_bn_weights(polyad.ones(1, 1, 1), None, one, 1.0, 1e-5, None, None),
        lambda one: nn.utils.fuse_linear_bn_weights(polyad.ones(1, 1), None, one, one, 1e-5, None, one),
        lambda one: nn.utils.parameters_to_vector(3),
        lambda one: nn.utils.vector_to_parameters(one, -1),
        lambda one: nn.utils.vector_to_parameters(one, [1]),
        lambda one: nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1), 1, norm=one),
        lambda one: nn.TransformerDecoder(nn.TransformerDecoderLayer(2, 1), 1, norm=one),
    ],
)
def test_what_is_of_the_wrong_type_is_told(call) -> None:
    with pytest.raises(ArgumentTypeError, match=r"\n +fix"):
        call(polyad.ones(1))


def test_a_weight_that_is_no_convolutions_is_told() -> None:
    one = polyad.ones(1)
    with pytest.raises(ShapeError, match="must be at least 2-d, not 0-d"):
        nn.utils.fuse_conv_bn_weights(polyad.tensor(1.0), None, one, one, 1e-5, None, None)
