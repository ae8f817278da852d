"""Registration, traversal, modes, conversion and representation of modules."""

import copy
import re

import pytest

import polyad
from polyad import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(polyad.tensor([2.0, 3.0]))
        self.register_buffer("seen", polyad.zeros(1))
        self.register_buffer("scratch", polyad.zeros(1), persistent=False)
        self.inner = nn.Identity()

    def forward(self, input):
        return self.inner(input * self.scale)


@pytest.fixture
def block():
    return Block()


class TestRegistration:
    def test_assignment_registers(self, block):
        assert list(block._parameters) == ["scale"]
        assert list(block._buffers) == ["seen", "scratch"]
        assert list(block._modules) == ["inner"]
        assert len(block._buffers) == 2
        assert "scale" in block._parameters
        assert "scale" not in block._modules

    def test_registries_are_live(self, block):
        new = nn.Parameter(polyad.ones(1))
        block._parameters["scale"] = new
        assert block.scale is new
        block._parameters["other"] = new
        assert block.other is new
        del block._buffers["seen"]
        assert not hasattr(block, "seen")
        assert block._modules.pop("inner") is not None
        with pytest.raises(KeyError):
            del block._parameters["scratch"]
        with pytest.raises(KeyError):
            block._modules["scale"]
        block._buffers["scratch"] = polyad.ones(1)
        assert "scratch" not in block.state_dict()

    def test_replacing_keeps_the_place(self, block):
        block.second = nn.Parameter(polyad.ones(1))
        block.scale = nn.Parameter(polyad.ones(2))
        assert [name for name, _ in block.named_parameters()] == ["scale", "second"]

    def test_members_do_not_hide_behind_class_attributes(self):
        class Named(nn.Module):
            def layer(self):
                return None

        for value in (nn.Identity(), nn.Parameter(polyad.ones(1)), nn.Buffer(polyad.ones(1))):
            with pytest.raises(KeyError, match="Named already has an attribute 'layer'"):
                Named().layer = value

    def test_subclass_may_extend_the_lookup(self):
        class Wrapper(nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.module, name)

        assert Wrapper(nn.Linear(2, 3)).out_features == 3

    def test_members_are_attributes(self, block):
        assert isinstance(block.scale, nn.Parameter)
        assert block.seen.tolist() == [0.0]
        assert {"scale", "seen", "inner"} <= set(dir(block))

    def test_a_name_moves_between_registries(self, block):
        block.thing = nn.Buffer(polyad.ones(1), persistent=False)
        assert "thing" in block._non_persistent_buffers_set
        block.thing = nn.Identity()
        assert "thing" in block._modules
        assert "thing" not in block._buffers
        assert "thing" not in block._non_persistent_buffers_set
        block.thing = nn.Parameter(polyad.ones(1))
        assert "thing" in block._parameters
        assert "thing" not in block._modules

    def test_none_keeps_the_name(self, block):
        block.scale = None
        assert block.scale is None
        assert list(block.parameters()) == []
        assert "scale" not in block.state_dict()
        block.scale = nn.Parameter(polyad.ones(2))
        assert len(list(block.parameters())) == 1

    def test_plain_tensor_replaces_a_buffer_but_not_a_parameter(self, block):
        block.seen = polyad.ones(1)
        assert block._buffers["seen"].tolist() == [1.0]
        with pytest.raises(TypeError, match="'scale' takes a Parameter or None, not Tensor"):
            block.scale = polyad.ones(2)
        assert block.scale.tolist() == [2.0, 3.0]

    def test_plain_tensor_is_a_plain_attribute(self, block):
        block.constant = polyad.ones(1)
        assert "constant" not in block.state_dict()
        assert len(list(block.buffers())) == 2

    @pytest.mark.parametrize(("name", "value"), [("inner", 3), ("seen", "x"), ("scale", 1.5)])
    def test_wrong_type_is_refused(self, block, name, value):
        before = getattr(block, name)
        with pytest.raises(TypeError, match=name):
            setattr(block, name, value)
        assert getattr(block, name) is before

    @pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module", "register_module"])
    @pytest.mark.parametrize(
        ("name", "error"), [(3, TypeError), ("a.b", KeyError), ("", KeyError), ("forward", KeyError)]
    )
    def test_bad_names(self, block, register, name, error):
        with pytest.raises(error, match=r"name|attribute"):
            getattr(block, register)(name, None)

    @pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module"])
    def test_register_refuses_other_types(self, block, register):
        with pytest.raises(TypeError, match=r"'other' takes|module is str, not a Module"):
            getattr(block, register)("other", "text")

    def test_assignment_goes_by_a_method_that_a_program_replaced(self, monkeypatch):
        seen = []
        register = nn.Module.register_parameter

        def moved(module, name, param):
            seen.append(name)
            register(module, name, nn.Parameter(param.to("meta")))

        monkeypatch.setattr(nn.Module, "register_parameter", moved)
        layer = nn.Linear(2, 3)
        assert seen == ["weight", "bias"]
        assert {one.device.type for one in layer.parameters()} == {"meta"}
        layer.extra = 1
        layer.extra = nn.Parameter(polyad.ones(1))
        assert layer.extra.device.type == "meta"
        assert [name for name, _ in layer.named_parameters()] == ["weight", "bias", "extra"]

    def test_assignment_goes_by_the_method_of_a_subclass(self):
        class Doubled(nn.Module):
            def register_buffer(self, name, tensor, persistent=True):
                super().register_buffer(name, 2 * tensor, persistent)

        module = Doubled()
        module.mean = nn.Buffer(polyad.ones(2), persistent=False)
        assert module.mean.tolist() == [2, 2]
        assert not module.state_dict()

    def test_register_parameter_refuses_a_tensor(self, block):
        with pytest.raises(TypeError, match="Parameter"):
            block.register_parameter("other", polyad.ones(1))

    @pytest.mark.parametrize(
        "value", [nn.Parameter(polyad.ones(1)), nn.Identity(), nn.Buffer(polyad.ones(1))], ids=type
    )
    def test_assignment_before_init(self, value):
        class Forgetful(nn.Module):
            def __init__(self):
                self.member = value

        with pytest.raises(AttributeError, match=r"Forgetful.*before Module.__init__"):
            Forgetful()

    def test_delete(self, block):
        del block.scale, block.seen, block.scratch, block.inner
        assert not block._parameters
        assert not block._buffers
        assert not block._modules
        assert not block._non_persistent_buffers_set
        with pytest.raises(AttributeError):
            del block.nothing

    def test_missing_attribute(self, block):
        with pytest.raises(AttributeError, match="'Block' object has no attribute 'nothing'"):
            _ = block.nothing
        assert not hasattr(block, "nothing")
        assert getattr(block, "nothing", 5) == 5

    def test_init_takes_no_arguments(self):
        with pytest.raises(TypeError):
            nn.Module(1)

    def test_deepcopy_shares_nothing(self, block):
        block.scale.grad = polyad.ones(2)
        twin = copy.deepcopy(block)
        assert isinstance(twin.scale, nn.Parameter)
        assert twin.scale.requires_grad
        with polyad.no_grad():
            twin.scale.fill_(9.0)
            twin.seen.fill_(9.0)
        assert block.scale.tolist() == [2.0, 3.0]
        assert block.seen.tolist() == [0.0]
        assert twin.scale.grad is None, "the first backward of the copy would add to it"

    @pytest.mark.parametrize(
        ("name", "value"),
        [("scale", nn.ReLU()), ("scale", nn.Buffer(polyad.ones(1))), ("inner", nn.Buffer(polyad.ones(1)))],
    )
    def test_no_other_member_takes_the_place_of_a_parameter_or_module(self, block, name, value):
        before = getattr(block, name)
        with pytest.raises(TypeError, match=name):
            setattr(block, name, value)
        assert getattr(block, name) is before

    def test_a_subclass_can_add_to_the_state_that_it_is_copied_from(self):
        class Later(nn.Linear):
            def __setstate__(self, state):
                super().__setstate__(state)
                self.added = 2

        assert copy.deepcopy(Later(1, 1)).added == 2

    def test_deepcopy_keeps_tied_parameters_tied(self):
        shared = nn.Linear(2, 2)
        twin = copy.deepcopy(nn.Sequential(shared, shared))
        assert twin[0] is twin[1]
        assert len(list(twin.parameters())) == 2


class TestCalling:
    def test_call_passes_everything_to_forward(self):
        class Pair(nn.Module):
            def forward(self, a, *rest, key=None):
                return a, rest, key

        assert Pair()(1, 2, 3, key=4) == (1, (2, 3), 4)

    def test_no_forward(self):
        with pytest.raises(NotImplementedError, match="Module: the module has no forward"):
            nn.Module()(1)

    def test_error_names_the_module(self):
        model = nn.Sequential(nn.Identity(), nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 5)))
        with pytest.raises(RuntimeError) as caught:
            model(polyad.ones(1, 2))
        assert re.search(r"in +model\.1\.1 \(Linear 4 -> 5\)", str(caught.value))

    def test_error_in_a_grandchild_called_directly(self):
        class Reach(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.ModuleDict({"head": nn.Linear(4, 5)})

            def forward(self, input):
                return self.body["head"](input)

        with pytest.raises(RuntimeError, match=r"model\.body\.head \(Linear 4 -> 5\)"):
            Reach()(polyad.ones(1, 2))

    def test_error_of_a_recursive_module(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 3)

            def forward(self, input):
                return self.layer(self.layer(input))

        with pytest.raises(RuntimeError, match=r"model\.layer \(Linear 2 -> 3\)"):
            Twice()(polyad.ones(1, 2))

    def test_error_caught_inside_is_not_a_loss(self):
        class Careful(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 5)

            def forward(self, input):
                try:
                    return self.layer(input)
                except RuntimeError:
                    return input

        assert Careful()(polyad.ones(1, 2)).shape == (1, 2)


class TestTraversal:
    @pytest.fixture
    def tree(self):
        shared = nn.Linear(2, 2)
        return nn.Sequential(shared, nn.Sequential(shared, nn.BatchNorm1d(2)))

    def test_named_parameters(self, tree):
        names = [name for name, _ in tree.named_parameters()]
        assert names == ["0.weight", "0.bias", "1.1.weight", "1.1.bias"]
        names = [name for name, _ in tree.named_parameters(prefix="net", remove_duplicate=False)]
        assert names[:4] == ["net.0.weight", "net.0.bias", "net.1.0.weight", "net.1.0.bias"]
        assert list(tree.named_parameters(recurse=False)) == []

    def test_named_buffers(self, tree):
        names = [name for name, _ in tree.named_buffers()]
        assert names == ["1.1.running_mean", "1.1.running_var", "1.1.num_batches_tracked"]
        assert len(list(tree.buffers())) == 3

    def test_named_modules(self, tree):
        assert [name for name, _ in tree.named_modules()] == ["", "0", "1", "1.1"]
        names = [name for name, _ in tree.named_modules(prefix="net", remove_duplicate=False)]
        assert names == ["net", "net.0", "net.1", "net.1.0", "net.1.1"]
        assert next(tree.modules()) is tree

    def test_children_are_distinct(self):
        shared = nn.Identity()
        model = nn.Sequential(shared, shared)
        assert [name for name, _ in model.named_children()] == ["0"]
        assert list(model.children()) == [shared]

    def test_get_submodule(self, tree):
        assert tree.get_submodule("") is tree
        assert tree.get_submodule("1.1") is tree[1][1]
        with pytest.raises(AttributeError, match=r"'7' in '1\.7' does not exist"):
            tree.get_submodule("1.7")
        with pytest.raises(AttributeError, match="is not a Module"):
            tree.get_submodule("0.weight")

    def test_set_submodule(self, tree):
        tree.set_submodule("1.1", nn.Identity())
        assert isinstance(tree[1][1], nn.Identity)
        tree.set_submodule("1.extra", nn.Identity())
        assert "extra" in tree[1]._modules
        with pytest.raises(AttributeError, match="does not exist"):
            tree.set_submodule("1.other", nn.Identity(), strict=True)
        with pytest.raises(AttributeError, match="is not a Module"):
            tree.set_submodule("0.weight", nn.Identity())
        with pytest.raises(ValueError, match="target"):
            tree.set_submodule("", nn.Identity())

    def test_get_parameter_and_buffer(self, tree):
        assert tree.get_parameter("1.1.weight") is tree[1][1].weight
        assert tree.get_buffer("1.1.running_var") is tree[1][1].running_var
        with pytest.raises(AttributeError, match="not a parameter"):
            tree.get_parameter("1.1.running_var")
        with pytest.raises(AttributeError, match="not a buffer"):
            tree.get_buffer("1.1.weight")

    def test_apply_goes_children_first(self, tree):
        order = []
        assert tree.apply(order.append) is tree
        assert order[-1] is tree
        assert order[0] is tree[0]


class TestModes:
    def test_train_and_eval_reach_all(self):
        model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.BatchNorm1d(2)))
        assert model.eval() is model
        assert not any(module.training for module in model.modules())
        model.train()
        assert all(module.training for module in model.modules())

    def test_train_wants_a_bool(self):
        with pytest.raises(ValueError, match="mode"):
            nn.Identity().train("yes")

    def test_requires_grad_(self, block):
        assert block.requires_grad_(False) is block
        assert not block.scale.requires_grad
        block.requires_grad_()
        assert block.scale.requires_grad

    def test_zero_grad(self, block):
        block(polyad.ones(2)).sum().backward()
        block.zero_grad(set_to_none=False)
        assert block.scale.grad.tolist() == [0.0, 0.0]
        block.zero_grad()
        assert block.scale.grad is None


class TestConversion:
    def test_to_dtype_keeps_parameters_and_integer_buffers(self):
        layer = nn.BatchNorm1d(2)
        weight = layer.weight
        weight.grad = polyad.ones(2)
        assert layer.to(polyad.float64) is layer
        assert layer.weight is weight
        assert weight.dtype == polyad.float64
        assert weight.requires_grad
        assert weight.is_leaf
        assert weight.grad.dtype == polyad.float64
        assert layer.running_mean.dtype == polyad.float64
        assert layer.num_batches_tracked.dtype == polyad.int64

    @pytest.mark.parametrize(
        ("method", "dtype"),
        [
            ("float", polyad.float32),
            ("double", polyad.float64),
            ("half", polyad.float16),
            ("bfloat16", polyad.bfloat16),
        ],
    )
    def test_named_casts(self, method, dtype):
        layer = nn.BatchNorm1d(2).double()
        assert getattr(layer, method)() is layer
        assert layer.weight.dtype == layer.running_var.dtype == dtype
        assert layer.num_batches_tracked.dtype == polyad.int64

    def test_gradients_after_a_cast(self, block):
        block.double()
        block(polyad.ones(2, dtype=polyad.float64)).sum().backward()
        assert block.scale.grad.dtype == polyad.float64

    @pytest.mark.parametrize(
        ("args", "kwargs"),
        [
            (("cpu",), {}),
            ((polyad.device("cpu"),), {"dtype": polyad.float64}),
            (("cpu", polyad.float64), {}),
            (("cpu", polyad.float64, True), {}),
            ((polyad.float64, True), {}),
            ((polyad.zeros(1, dtype=polyad.float64),), {}),
            ((), {"tensor": polyad.zeros(1, dtype=polyad.float64)}),
            ((), {"device": "cpu", "dtype": polyad.float64, "non_blocking": True}),
            ((), {}),
        ],
    )
    def test_argument_forms(self, args, kwargs):
        layer = nn.Linear(1, 1).to(*args, **kwargs)
        wants_double = any("float64" in repr(arg) for arg in (*args, *kwargs.values()))
        assert layer.weight.dtype == (polyad.float64 if wants_double else polyad.float32)

    @pytest.mark.parametrize(
        ("args", "kwargs"),
        [
            ((polyad.int32,), {}),
            ((), {"dtype": polyad.bool}),
            ((1.5,), {}),
            (("cpu", "float32"), {}),
            (("cpu", polyad.float32, True, 1), {}),
            ((), {"memory": 1}),
        ],
    )
    def test_bad_arguments(self, args, kwargs):
        layer = nn.Linear(1, 1)
        with pytest.raises(TypeError, match=r"Module\.to"):
            layer.to(*args, **kwargs)
        assert layer.weight.dtype == polyad.float32

    def test_failure_changes_nothing(self, block):
        calls = []

        def convert(tensor):
            calls.append(tensor)
            if len(calls) == 2:
                raise MemoryError("no room")
            return tensor.to(polyad.float64)

        with pytest.raises(MemoryError):
            block._apply(convert)
        assert block.scale.dtype == block.seen.dtype == polyad.float32

    def test_type(self):
        layer = nn.BatchNorm1d(2)
        with pytest.raises(RuntimeError, match="require gradients cannot become int32"):
            layer.type(polyad.int32)
        assert layer.weight.dtype == polyad.float32
        assert layer.running_mean.dtype == polyad.float32
        layer.requires_grad_(False).type(polyad.int32)
        assert layer.weight.dtype == layer.num_batches_tracked.dtype == polyad.int32

    def test_tied_parameters_stay_tied(self):
        shared = nn.Linear(2, 2)
        model = nn.Sequential(shared, shared).double()
        assert model[0].weight is model[1].weight

    def test_unknown_device(self):
        layer = nn.Linear(1, 1)
        with pytest.raises(RuntimeError):
            layer.to("abacus")
        assert layer.weight.device.type == "cpu"


class TestRepresentation:
    def test_nested(self):
        model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(inplace=True)), nn.Dropout(0.2))
        assert repr(model) == (
            "Sequential(\n"
            "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
            "  (1): Sequential(\n"
            "    (0): ReLU(inplace=True)\n"
            "  )\n"
            "  (2): Dropout(p=0.2, inplace=False)\n"
            ")"
        )

    def test_extra_lines_and_children(self):
        class Wordy(nn.Module):
            def __init__(self):
                super().__init__()
                self.child = nn.Identity()

            def extra_repr(self):
                return "first\nsecond"

        assert repr(Wordy()) == "Wordy(\n  first\n  second\n  (child): Identity()\n)"

    def test_absent_child(self):
        model = nn.Module()
        model.add_module("later", None)
        assert repr(model) == "Module(\n  (later): None\n)"


class TestCallSuperInit:
    class Mixin:
        def __init__(self, *args, **kwargs):
            super().__init__()
            self.given = args, kwargs

    def test_goes_on_to_the_next_class(self):
        class Both(nn.Module, self.Mixin):
            call_super_init = True

            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.layer = nn.Linear(2, 2)

        both = Both(1, name="a")
        assert both.given == ((1,), {"name": "a"})
        assert len(list(both.parameters())) == 2

    def test_stops_at_module_otherwise(self):
        class Both(nn.Module, self.Mixin):
            pass

        assert not hasattr(Both(), "given")
        with pytest.raises(TypeError, match=r"Both: Module.__init__\(\) takes no arguments"):
            Both(1)
