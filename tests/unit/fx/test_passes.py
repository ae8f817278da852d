"""Running graphs, and passes over them."""

from __future__ import annotations

import pytest

import polyad as torch
from polyad import fx, nn
from polyad.fx.experimental.proxy_tensor import from_capture, get_proxy_mode, make_fx
from polyad.fx.passes.infra.pass_base import PassBase, PassResult
from polyad.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from polyad.fx.passes.shape_prop import ShapeProp
from polyad.fx.passes.split_module import split_module
from polyad.fx.subgraph_rewriter import replace_pattern_with_filters

F = nn.functional
aten = torch.ops.aten


def calls(module):
    return [node.name for node in module.graph.nodes if node.op not in ("placeholder", "output")]


def test_the_interpreter_computes_and_lets_go() -> None:
    module = fx.symbolic_trace(lambda x, y=2, *rest: (x * y + rest[0], [y]))
    interpreter = fx.Interpreter(module)
    assert interpreter.run(3, 4, 5) == (17, [4])
    assert [node.op for node in interpreter.env] == ["output"]
    kept = fx.Interpreter(module, garbage_collect_values=False)
    kept.run(3, 4, 5)
    assert len(kept.env) == len(module.graph.nodes)
    add = module.graph.find_nodes(op="call_function")[2]
    assert interpreter.run(3, 4, 5, initial_env={add: 0}) == (0, [4])
    with pytest.raises(RuntimeError, match="no argument for 'x'"):
        interpreter.run()
    with pytest.raises(TypeError, match="has no graph"):
        fx.Interpreter(nn.Linear(1, 1))
    with pytest.raises(RuntimeError) as caught:
        fx.Interpreter(fx.symbolic_trace(lambda x: x @ x)).run(torch.ones(2, 3))
    assert "operator.matmul" in caught.value.__notes__[0]


def test_the_transformer_makes_another_graph() -> None:
    class Doubled(fx.Transformer):
        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) * 2

        def get_attr(self, target, args, kwargs):
            return -super().get_attr(target, args, kwargs)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.w = nn.Linear(2, 2), nn.Parameter(torch.ones(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x).relu() + self.w

    model = Net()
    made = Doubled(fx.symbolic_trace(model)).transform()
    assert calls(made) == ["layer", "mul", "relu", "w", "neg", "add"]
    x = torch.randn(3, 2)
    assert torch.allclose(made(x), (model.layer(x) * 2).relu() - 1)
    assert made.layer is model.layer
    assert "x : torch.Tensor" in made.code
    assert "-> torch.Tensor:" in made.code


def test_patterns_are_replaced_where_they_stand_alone() -> None:
    def function(x, w):
        a = torch.relu(x @ w)
        b = torch.relu(a @ w)
        c = a @ x
        return torch.relu(c) + c + b

    module = fx.symbolic_trace(function)
    x, w = torch.randn(2, 2), torch.randn(2, 2)
    expected = function(x, w)
    found = fx.replace_pattern(module, lambda a, b: torch.relu(a @ b), lambda p, q: (p @ q).clamp(min=0))
    assert [match.anchor.name for match in found] == ["relu", "relu_1"]
    assert calls(module) == ["matmul_3", "clamp", "matmul_2", "relu_2", "add", "matmul_4", "clamp_1", "add_1"]
    module.graph.lint()
    assert torch.allclose(module(x, w), expected)


def test_patterns_overlap_once_and_may_be_filtered() -> None:
    module = fx.symbolic_trace(lambda x: torch.sigmoid(torch.sigmoid(torch.sigmoid(x))) + 3)
    pattern = lambda x: torch.sigmoid(torch.sigmoid(x))  # noqa: E731
    assert len(fx.replace_pattern(module, pattern, lambda x: torch.tanh(x))) == 1
    assert calls(module).count("tanh") == 1
    module.graph.lint()
    replaced = replace_pattern_with_filters(
        module, lambda x: x + 4, lambda x: x - 4, [lambda match, graph, pattern: True], ignore_literals=True
    )
    assert [node.name for node in replaced[0].replacements] == ["sub"]
    refused = replace_pattern_with_filters(module, lambda x: x - 4, lambda x: x, [lambda *all: False])
    assert refused == []
    with pytest.raises(ValueError, match="takes 1 arguments and the replacement 2"):
        fx.replace_pattern(module, lambda x: x - 4, lambda x, y: x + y)


def test_a_pattern_gives_several_results_and_brings_modules() -> None:
    class Put(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x), x * 2

    module = fx.symbolic_trace(lambda x: torch.neg(torch.exp(x)) + torch.sin(x))
    put = Put()
    found = fx.replace_pattern(module, lambda x: (torch.exp(x), torch.sin(x)), put)
    assert len(found) == 1
    x = torch.randn(1, 2)
    assert torch.allclose(module(x), -put.layer(x) + x * 2)


def test_shapes_are_noted() -> None:
    module = fx.symbolic_trace(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()))
    x = torch.ones(1, 3, 8, 8).to(memory_format=torch.channels_last)
    ShapeProp(module).propagate(x)
    known = {node.name: node.meta["tensor_meta"] for node in module.graph.nodes}
    assert (known["_0"].shape, known["_0"].dtype, known["_0"].requires_grad) == ((1, 4, 6, 6), torch.float32, True)
    assert known["input_1"].memory_format is torch.channels_last
    assert known["input_1"].stride == x.stride()
    ShapeProp(module.to("meta")).propagate(torch.empty(5, 3, 8, 8, device="meta"))
    assert next(iter(reversed(module.graph.nodes))).meta["tensor_meta"].shape == (5, 4, 6, 6)


def test_modules_in_parts() -> None:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.scale = nn.Parameter(torch.full((3,), 2.0))

        def forward(self, x, y):
            h = self.a(x) * self.scale
            k = torch.relu(h)
            return self.b(k + y) * self.scale + h

    model = Net()
    module = fx.symbolic_trace(model)
    renamed: dict = {}
    split = split_module(module, model, lambda node: node.name in ("b", "add", "mul_1", "add_1"), renamed)
    assert calls(split) == ["submod_false", "getitem", "getitem_1", "submod_true"]
    assert renamed["submod_True.b"] == "b"
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    assert torch.allclose(split(x, y), model(x, y))
    split.graph.lint()
    with pytest.raises(RuntimeError, match="in a circle"):
        split_module(module, model, lambda node: node.name == "relu")


def test_passes_run_until_nothing_changes() -> None:
    class Shorter(PassBase):
        def call(self, graph_module):
            found = graph_module.graph.find_nodes(op="call_function", target=torch.neg)
            for node in found[:1]:
                node.replace_all_uses_with(node.args[0])
                graph_module.graph.erase_node(node)
            graph_module.recompile()
            return PassResult(graph_module, bool(found))

    module = fx.symbolic_trace(lambda x: torch.neg(torch.neg(torch.neg(x))))
    checked = []
    manager = PassManager([Shorter()], steps=10, run_checks_after_each_pass=True)
    manager.add_checks(lambda one: checked.append(len(one.graph.nodes)))
    result = manager(module)
    assert (result.modified, calls(result.graph_module)) == (True, [])
    assert checked == [5, 4, 3, 2, 2, 2]
    manager.add_pass(lambda one: 3)
    with pytest.raises(RuntimeError, match="gave int"):
        manager(module)
    first, second = manager.passes
    manager.add_constraint(this_before_that_pass_constraint(first, second))
    manager.validate_constraints()
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="may not come before"):
        manager(module)


def test_ops_of_a_call_are_a_graph() -> None:
    weight, constant = nn.Parameter(torch.randn(3, 4)), torch.ones(2, 1)

    def function(x, more):
        y = torch.relu(x @ weight) + constant
        y.add_(1)
        values, places = torch.max(y, 1)
        return {"sum": y.t()[0].sum() + more["z"], "rest": (values, places), "made": torch.tensor([1.0, 2.0]).mul_(2)}

    x, more = torch.randn(2, 3), {"z": torch.ones(2)}
    module = make_fx(function)(x, more)
    targets = [node.target for node in module.graph.find_nodes(op="call_function")]
    assert targets[:5] == [aten.mm.default, aten.relu.default, aten.add.Tensor, aten.add_.Tensor, aten.max.dim]
    assert [name for name, _ in module.named_parameters()] == ["_param_constant0"]
    other = torch.randn(2, 3)
    for _ in range(2):
        expected, found = function(other, more), module(other, more)
        assert torch.allclose(found["sum"], expected["sum"])
        assert torch.equal(found["rest"][1], expected["rest"][1])
        assert found["made"].tolist() == [2, 4]
    assert get_proxy_mode() is None


def test_ops_of_backward_passes_and_decompositions() -> None:
    def gradient(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x.sin() * x).sum(), x)[0]

    x = torch.randn(3)
    module = make_fx(gradient)(x)
    assert aten.cos.default in [node.target for node in module.graph.nodes]
    assert torch.allclose(module(x + 1), (x + 1).cos() * (x + 1) + (x + 1).sin())
    table = {aten.relu.default: lambda a: torch.where(a > 0, a, 0)}
    assert calls(make_fx(lambda a: torch.relu(a), table)(x))[:2] == ["gt", "where"]


def test_numbers_that_are_read_are_refused() -> None:
    with pytest.raises(fx.proxy.TraceError, match="read as a number"):
        make_fx(lambda x: x * x.sum().item())(torch.ones(2))
    with pytest.raises(NotImplementedError, match="meta"):
        make_fx(lambda x: x, tracing_mode="symbolic")
    assert calls(make_fx(lambda x: x @ x)(torch.empty(2, 2, device="meta"))) == ["mm"]


def test_what_was_captured_is_a_graph_that_can_be_edited() -> None:
    torch.manual_seed(0)  # a layer norm of nearly equal numbers would enlarge the rounding of a product
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4)).eval()
    x = torch.randn(2, 3)
    captured = torch.jit.capture(lambda x: model(x).mul_(2) + torch.zeros(4), x)
    module = from_capture(captured)
    assert torch.allclose(module(x), captured(x))
    assert {str(node.target) for node in module.graph.nodes} >= {
        "aten.addmm.default",
        "aten.relu.default",
        "aten.mul_.Tensor",
    }
    assert "cpu" in module.code
    assert "meta" not in module.code
    for node in module.graph.find_nodes(op="call_function", target=aten.relu.default):
        node.target = aten.sigmoid.default
    module.recompile()
    model[1] = nn.Sigmoid()
    assert torch.allclose(module(x), model(x) * 2)
    again = torch.jit.capture(module, x)
    assert torch.allclose(again(x), module(x))


def test_captures_of_more_than_ops_are_refused() -> None:
    layer = nn.Linear(2, 1)

    def step(x):
        layer(x).sum().backward()

    x = torch.ones(1, 2)
    with pytest.raises(NotImplementedError, match="no op of tensors alone"):
        from_capture(torch.jit.capture(step, x))
    assert layer.weight.grad is None or layer.weight.grad.shape == (1, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    step(x)
    with pytest.raises(NotImplementedError, match="lr"):
        from_capture(torch.jit.capture(lambda x: optimizer.step(), x))


@pytest.mark.parametrize("use", ["script", "trace", "compile", "export"])
def test_a_traced_module_is_a_module(use) -> None:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor):
            return torch.relu(self.layer(x) + self.w).sum(dim=1)

    module, x = fx.symbolic_trace(Net()), torch.randn(2, 3)
    again = {
        "script": lambda: torch.jit.script(module),
        "trace": lambda: torch.jit.trace(module, (x,)),
        "compile": lambda: torch.compile(module),
        "export": lambda: torch.export.export(module, (x,)).module(),
    }[use]()
    assert torch.allclose(again(x), module(x))


def test_augmented_assignments_are_not_dead() -> None:
    def change(x):
        x.__iadd__(1)
        x.__setitem__(0, 5.0)
        x.add(3)
        return x

    module = torch.fx.symbolic_trace(change)
    module.graph.eliminate_dead_code()
    module.recompile()
    assert module(torch.zeros(2)).tolist() == [5, 1]
    assert "add" not in calls(module)
