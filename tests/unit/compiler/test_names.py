"""`polyad.compile` and the names beside it, as PyTorch's programs use them."""

from __future__ import annotations

import copy
import functools
import pickle

import pytest

import polyad
from polyad import nn


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def double(x):
    """Twice as much."""
    return 2 * x


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
        for _ in range(3):
            assert polyad.equal(model.train(False)(x), model(x))
        model.train()
        assert list(model.state_dict()) == names
        assert polyad.equal(model(x), expected)
        other = copy.deepcopy(model)
        nn.init.zeros_(other[1].weight)
        nn.init.ones_(other[1].bias)
        assert polyad.equal(other(x), polyad.ones(5, 4))
        assert pickle.loads(pickle.dumps(other)).state_dict().keys() == model.state_dict().keys()


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


class TestStances:
    def test_eager(self):
        compiled = polyad.compile(double)
        with polyad.compiler.set_stance("force_eager"):
            compiled(polyad.ones(2))
        assert not compiled._region.programs

    def test_no_more_records(self):
        compiled = polyad.compile(lambda x, n: x * n)
        x = polyad.ones(2)
        compiled(x, 2)
        with polyad.compiler.set_stance("eager_on_recompile"):
            assert compiled(x, 3).tolist() == [3, 3]
            assert compiled(x.double(), 3).tolist() == [3, 3]
        (program,) = compiled._region.programs.values()
        assert len(program.recordings) == 1
        with polyad.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="differs"):
            compiled(x, 5)

    def test_names(self):
        with pytest.raises(RuntimeError, match="no stance"):
            polyad.compiler.set_stance("fast")


def test_whole_graphs_read_no_data():
    @polyad.compile(fullgraph=True)
    def step(x):
        y = x * 2
        return y.sum().item()

    with pytest.raises(RuntimeError, match=r"item\(\) reads data") as error:
        step(polyad.ones(2))
    assert "test_names.py:" in str(error.value)
    whole = polyad.compile(lambda x: x * 2, fullgraph=True)
    assert [whole(polyad.ones(1)).item() for _ in range(3)] == [2, 2, 2]


def test_a_backend_sees_the_graph():
    seen = []

    @polyad.compile(backend=lambda graph, inputs: seen.append(([node.name for node in graph], inputs)))
    def step(x):
        return x.exp() * 2

    x = polyad.ones(2)
    for _ in range(3):
        step(x)
    ((names, inputs),) = seen
    assert names == ["exp", "mul"]
    assert inputs[0] is x


def test_explanations():
    @polyad.compile
    def step(x):
        y = x * 2
        if y.sum() > 0:
            return y.exp()
        return y

    for _ in range(2):
        step(polyad.ones(2))
    lines = polyad.compiler.explain(step).splitlines()
    assert "float32 (2,)" in lines[1]
    assert "until item at test_names.py:" in lines[2]
    for _ in range(2):
        step(polyad.ones(2))
    assert "no calls become one kernel, and no backward is in it" in polyad.compiler.explain(step)
    with pytest.raises(TypeError, match="explain"):
        polyad.compiler.explain(double)


def test_reset_forgets():
    compiled = polyad.compile(double)
    compiled(polyad.ones(2))
    assert compiled._region.programs
    polyad.compiler.reset()
    assert not compiled._region.programs


def test_the_rest_of_the_namespace_changes_nothing():
    with polyad.compiler.set_stance("force_eager"):
        assert polyad.compiler.nested_compile_region(double)(2) == 4
    assert polyad.compiler.nested_compile_region()(double) is double
    assert polyad.compiler.substitute_in_graph(abs)(double) is double
    assert polyad.compiler.wrap_numpy(double) is double
    assert "inductor" in polyad.compiler.list_backends()
