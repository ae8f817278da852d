"""`polyad.compile` while nothing compiles: PyTorch's programs run, and see what they would see there."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings

import pytest

import polyad
from polyad import nn
from polyad.base import state


@pytest.fixture(autouse=True)
def _nobody_was_told(monkeypatch):
    monkeypatch.setattr(state, "_warned", set())


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def told_once(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = call()
    assert [str(one.message)[:40] for one in seen] == ["compile: polyad has no compiler yet, so "]
    assert seen[0].filename == __file__
    return result


def double(x):
    """Twice as much."""
    return 2 * x


def test_one_warning_whatever_is_compiled(model):
    def program():
        for backend in ("inductor", "eager", double):
            polyad.compile(model, backend=backend)
        polyad.compile(double)(1)
        model.compile()
        polyad._dynamo.optimize("eager")(double)

    told_once(program)


@pytest.mark.filterwarnings("ignore:compile:UserWarning")
class TestFunctions:
    @pytest.mark.parametrize(
        "compiled",
        [
            lambda: polyad.compile(double),
            lambda: polyad.compile(double, fullgraph=True, dynamic=True, backend="eager"),
            lambda: polyad.compile()(double),
            lambda: polyad.compile(mode="reduce-overhead")(double),
            lambda: polyad.compile(options={"max_autotune": True})(double),
            lambda: polyad.compiler.compile(double),
        ],
    )
    def test_another_function_that_does_the_same(self, compiled):
        function = compiled()
        assert function(polyad.ones(2)).tolist() == [2.0, 2.0]
        assert (function.__name__, function.__doc__) == ("double", "Twice as much.")
        assert function is not double
        assert function._torchdynamo_orig_callable is double

    def test_methods_are_bound(self):
        class Model:
            factor = 3

            @polyad.compile
            def times(self, x):
                return self.factor * x

            @polyad.compile(backend="eager")
            def plus(self, x):
                return self.factor + x

        assert (Model().times(2), Model().plus(2)) == (6, 5)

    def test_other_things_that_can_be_called(self):
        assert polyad.compile(functools.partial(double, 4))() == 8
        assert polyad.compile(polyad.exp)(polyad.zeros(1)).item() == 1
        assert polyad.compile(nn.Linear) is nn.Linear
        assert polyad.compile(double, disable=True) is double
        assert polyad.compile(disable=True)(double) is double

    def test_gradients_go_through(self):
        x = polyad.ones(2, requires_grad=True)
        polyad.compile(double)(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]

    @pytest.mark.parametrize(
        ("call", "error"),
        [
            (lambda: polyad.compile(3), AssertionError),
            (lambda: polyad.compile(double, mode="fast"), RuntimeError),
            (lambda: polyad.compile(mode="fast")(double), RuntimeError),
            (lambda: polyad.compile(double, backend="gcc"), RuntimeError),
            (lambda: polyad.compile(double, mode="default", options={}), RuntimeError),
            (lambda: polyad.compile(double, double), TypeError),
            (lambda: nn.Linear(1, 1).compile(backend="gcc"), RuntimeError),
        ],
    )
    def test_what_pytorch_refuses(self, call, error):
        with pytest.raises(error):
            call()


@pytest.mark.filterwarnings("ignore:compile:UserWarning")
class TestModules:
    def test_state_has_the_prefix_of_pytorch(self, model):
        compiled = polyad.compile(model)
        assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
        other = polyad.compile(copy.deepcopy(model))
        nn.init.ones_(model[0].weight)
        other.load_state_dict(compiled.state_dict())
        assert polyad.equal(other._orig_mod[0].weight, model[0].weight)
        assert next(iter(compiled.named_parameters()))[0] == "_orig_mod.0.weight"
        with pytest.raises(RuntimeError, match="_orig_mod"):
            compiled.load_state_dict(model.state_dict())
        model.load_state_dict({name.removeprefix("_orig_mod."): value for name, value in compiled.state_dict().items()})

    def test_attributes_are_those_of_the_module(self, model):
        compiled = polyad.compile(model)
        model.note = "a"
        compiled.note += "b"
        compiled.scale = nn.Parameter(polyad.ones(1))
        assert (model.note, model.scale is compiled.scale) == ("ab", True)
        assert "_orig_mod.scale" in compiled.state_dict()
        del compiled.note
        assert not hasattr(model, "note")
        assert not hasattr(compiled, "note")
        assert len(compiled) == 2
        assert {"scale", "append"} <= set(dir(compiled))
        assert getattr(compiled, "_orig_mod", compiled) is model
        with pytest.raises(AttributeError, match="Sequential"):
            compiled.no_such_thing()
        with pytest.raises(TypeError):
            len(polyad.compile(nn.Linear(1, 1)))
        assert polyad.compile(nn.Linear(1, 1))

    def test_modes_and_moves_reach_the_module(self, model):
        compiled = polyad.compile(model)
        assert compiled.eval() is compiled
        assert (compiled.training, model.training, model[1].training) == (False, False, False)
        compiled.train()
        assert model.training
        compiled.to(polyad.float64).requires_grad_(False)
        assert (model[0].weight.dtype, model[0].weight.requires_grad) == (polyad.float64, False)

    def test_it_trains_as_the_module_does(self, model):
        compiled = polyad.compile(model)
        optimizer = polyad.optim.SGD(compiled.parameters(), lr=0.1)
        before = model[0].weight.clone()
        compiled(polyad.randn(5, 3)).square().mean().backward()
        optimizer.step()
        assert not polyad.equal(model[0].weight, before)

    def test_hooks_of_both_run(self, model):
        compiled, seen = polyad.compile(model), []
        model.register_forward_hook(lambda module, args, out: seen.append(type(module).__name__))
        compiled.register_forward_hook(lambda module, args, out: seen.append(type(module).__name__))
        compiled(polyad.randn(5, 3))
        assert seen == ["Sequential", "OptimizedModule"]

    def test_kinds(self, model):
        compiled = polyad.compile(model)
        assert type(compiled) is polyad._dynamo.eval_frame.OptimizedModule is polyad._dynamo.OptimizedModule
        assert isinstance(compiled, nn.Module)
        assert not isinstance(compiled, nn.Sequential)
        assert str(compiled).startswith("OptimizedModule(\n  (_orig_mod): Sequential(")

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
    def test_copies_share_nothing(self, model, copied):
        compiled = polyad.compile(model)
        other = copied(compiled)
        assert type(other) is type(compiled)
        nn.init.ones_(model[0].weight)
        assert not polyad.equal(other._orig_mod[0].weight, model[0].weight)

    def test_in_another_model(self, model):
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = polyad.compile(model)

            @polyad.compile
            def forward(self, x):
                return self.inner(x)

        outer = Outer()
        assert outer(polyad.randn(5, 3)).shape == (5, 4)
        assert next(iter(outer.state_dict())) == "inner._orig_mod.0.weight"

    def test_in_place(self, model):
        x = polyad.randn(5, 3)
        names = list(model.state_dict())
        expected = model(x)
        assert model.compile(mode="default", fullgraph=True) is None
        assert list(model.state_dict()) == names
        assert polyad.equal(model(x), expected)
        assert copy.deepcopy(model)(x).shape == (5, 4)


def test_switches_are_kept():
    import polyad._dynamo.config as by_path

    dynamo, inductor = polyad._dynamo.config, polyad._inductor.config
    assert by_path is dynamo
    with dynamo.patch("suppress_errors", True), dynamo.patch({"cache_size_limit": 64}):
        assert (dynamo.suppress_errors, dynamo.cache_size_limit) == (True, 64)
    assert (dynamo.suppress_errors, dynamo.cache_size_limit) == (False, 8)
    with inductor.patch({"triton.cudagraphs": True}):
        inductor.triton.unique_kernel_names = False
        inductor.a_switch_of_tomorrow = 1
        assert (inductor.triton.cudagraphs, inductor.a_switch_of_tomorrow) == (True, 1)
    assert not inductor.triton.cudagraphs
    with pytest.raises(AttributeError, match="reads no such switch"):
        dynamo.nothing()
    polyad._dynamo.reset()
    polyad._dynamo.mark_dynamic(polyad.ones(2), 0)


def test_the_rest_of_the_namespace_changes_nothing():
    with polyad.compiler.set_stance("force_eager"):
        assert polyad.compiler.nested_compile_region(double)(2) == 4
    assert polyad.compiler.nested_compile_region()(double) is double
    assert polyad.compiler.substitute_in_graph(abs)(double) is double
    assert polyad.compiler.wrap_numpy(double) is double
    assert "inductor" in polyad.compiler.list_backends()
