"""Graphs that are written, changed, checked and cleaned up."""

from __future__ import annotations

import operator
import pickle

import pytest

import polyad as torch
from polyad import fx, nn
from polyad.fx.immutable_collections import immutable_dict, immutable_list
from polyad.fx.node import map_aggregate
from polyad.fx.operator_schemas import normalize_function
from polyad.utils import _pytree


def chain():
    """x -> relu -> neg -> output, and the nodes by name."""
    module = fx.symbolic_trace(lambda x: -torch.relu(x))
    return module, {node.name: node for node in module.graph.nodes}


def names(graph):
    return [node.name for node in graph.nodes]


def test_users_follow_arguments() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    z = graph.call_function(torch.add, (x, [y, {"k": x}]), {"alpha": slice(y, None)})
    assert (z.all_input_nodes, list(x.users), list(y.users)) == ([x, y], [z], [z])
    z.args = (x, 3)
    assert (list(y.users), z.all_input_nodes) == ([z], [x, y])
    z.kwargs = {}
    assert (list(y.users), z.all_input_nodes) == ([], [x])
    z.update_arg(1, y)
    z.update_kwarg("alpha", 2)
    z.insert_arg(1, 7)
    assert (z.args, z.kwargs) == ((x, 7, y), {"alpha": 2})
    with pytest.raises(IndexError):
        z.insert_arg(5, 1)
    z.replace_input_with(y, x)
    assert z.args == (x, 7, x)
    with pytest.raises(NotImplementedError, match="new_args"):
        z.kwargs["alpha"] = 3


def test_places() -> None:
    module, found = chain()
    graph = module.graph
    with graph.inserting_after(found["relu"]):
        first = graph.call_method("abs", (found["relu"],))
        second = graph.call_method("exp", (found["relu"],))
    with graph.inserting_before(found["relu"]):
        third = graph.call_function(torch.sin, (found["x"],))
    last = graph.call_function(torch.cos, (third,))
    assert names(graph) == ["x", "sin", "relu", "abs_1", "exp", "neg", "output", "cos"]
    found["neg"].prepend(last)
    assert last.next is found["neg"]
    assert last.prev is second
    found["neg"].append(first)
    assert names(graph) == ["x", "sin", "relu", "exp", "cos", "neg", "abs_1", "output"]
    assert next(node.name for node in reversed(graph.nodes)) == "output"
    assert third < second < last <= last
    assert not last < third
    assert len(graph.nodes) == 8
    with pytest.raises(RuntimeError, match="another graph"):
        last.append(fx.Graph().placeholder("x"))


def test_replacing_and_erasing() -> None:
    module, found = chain()
    graph = module.graph
    with pytest.raises(RuntimeError, match="1 users: neg"):
        graph.erase_node(found["relu"])
    with graph.inserting_after(found["relu"]):
        new = graph.call_function(torch.sigmoid, (found["x"],))
    assert found["relu"].replace_all_uses_with(new) == [found["neg"]]
    graph.erase_node(found["relu"])
    assert names(graph) == ["x", "sigmoid", "neg", "output"]
    graph.lint()
    module.recompile()
    assert module(torch.zeros(1)).item() == -0.5


def test_erasing_while_iterating() -> None:
    graph = fx.symbolic_trace(lambda x: (x + 1, x + 2, x + 3)[0]).graph
    for node in graph.nodes:
        if node.op == "call_function" and not node.users:
            graph.erase_node(node)
    assert names(graph) == ["x", "add", "output"]


def test_lint_finds_what_does_not_hold() -> None:
    _, found = chain()
    graph = found["x"].graph
    found["x"].prepend(found["neg"])
    with pytest.raises(RuntimeError, match="comes after it"):
        graph.lint()
    other = fx.Graph()
    other.call_function(torch.neg, (found["x"],))
    with pytest.raises(RuntimeError, match="another graph"):
        other.lint()
    module, found = chain()
    with pytest.warns(UserWarning, match=r"no 'absent\.weight'"):
        module.graph.get_attr("absent.weight")
    with pytest.raises(RuntimeError, match="has no attribute absent"):
        module.graph.lint()
    module, found = chain()
    found["neg"].name = "relu"
    with pytest.raises(RuntimeError, match="two nodes"):
        module.graph.lint()


def test_dead_code_goes_and_effects_stay() -> None:
    def function(x):
        x.exp()
        torch.relu(x + 1)
        x.mul_(2)
        torch._assert(x.shape[0] == 1, "one")
        torch.rand(2)
        torch.sin(x, out=x)
        return x

    module = fx.symbolic_trace(function)
    assert module.graph.eliminate_dead_code()
    assert names(module.graph) == ["x", "mul_", "getattr_1", "getitem", "eq", "_assert", "sin", "output"]
    assert not module.graph.eliminate_dead_code()

    @fx.has_side_effect
    def effect(x):
        return x

    graph = fx.Graph()
    graph.call_function(effect, (graph.placeholder("x"),))
    graph.call_function(operator.add, (1, 2))
    assert graph.eliminate_dead_code(lambda node: False)
    assert names(graph) == ["x"]


def test_names_are_given_once() -> None:
    graph = fx.Graph()
    made = [graph.placeholder("x"), graph.call_function(torch.add, (1, 1)), graph.call_function(torch.add, (1, 1))]
    made += [graph.create_node("call_function", torch.add, (), {}, name="add_1"), graph.placeholder("lambda")]
    made += [
        graph.placeholder("input"),
        graph.call_module("0.Weird Name"),
        graph.call_method("__getitem__", (made[0],)),
    ]
    assert [node.name for node in made] == [
        "x", "add", "add_1", "add_2", "lambda_1", "input_1", "_0_weird_name", "getitem",
    ]  # fmt: skip


def test_a_graph_by_hand_with_a_dict_of_modules() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=torch.Tensor, default_value=2.0)
    y = graph.call_module("part.layer", (x,))
    graph.output(graph.call_function(operator.iadd, (y, graph.get_attr("bias"))))
    layer, bias = nn.Identity(), torch.tensor([4.0])
    module = fx.GraphModule({"part.layer": layer, "bias": bias}, graph, "Made")
    assert module.code.splitlines()[3] == "def forward(self, x : torch.Tensor = 2.0):"
    assert "layer += bias" in module.code
    assert (type(module).__name__, module.part.layer, module.bias) == ("Made", layer, bias)
    assert module(torch.ones(1)).item() == 5
    with pytest.raises(RuntimeError, match=r"names 'bias'"):
        fx.GraphModule({"part.layer": layer}, graph)
    with pytest.raises(TypeError, match="neither a Module nor a dict"):
        fx.GraphModule(3, graph)


def test_submodules_are_added_and_taken_away() -> None:
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))
    assert module.add_submodule("a.b", nn.ReLU())
    assert not module.add_submodule("a.b.inplace.c", nn.ReLU())
    assert module.delete_submodule("a.b")
    assert not module.delete_submodule("a.b")
    next(iter(module.graph.find_nodes(op="call_module", target="1"))).target = "0"
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules()] == ["", "0"]


def test_code_is_changed_by_the_program() -> None:
    module, _ = chain()
    before = module.code
    with module.graph.on_generate_code(lambda current: lambda lines: ["seen = 1\n", *lines]):
        module.recompile()
        assert "    seen = 1\n    relu" in module.code
    module.recompile()
    assert module.code == before

    class Listed(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, values):\n    {', '.join(free_vars)}, = values"

    module.graph.set_codegen(Listed())
    module.recompile()
    assert module([torch.ones(1)]).item() == -1


def test_the_code_names_what_it_uses() -> None:
    def function(x, y=float("inf")):
        return x.to(torch.float64, device=torch.device("cpu")), y, torch.Size([2]), operator.abs(x), len([x]), 1j

    module = fx.symbolic_trace(function)
    result = module(torch.ones(1))
    assert (result[0].dtype, result[1], result[2]) == (torch.float64, float("inf"), torch.Size([2]))
    assert "device(type='cpu')" in module.code
    assert module.graph.python_code("self").globals["torch"] is torch


def test_hooks_see_edits() -> None:
    module, found = chain()
    seen = []
    module._create_node_hooks.append(lambda node: seen.append(("made", node.name)))
    module._erase_node_hooks.append(lambda node: seen.append(("erased", node.name)))
    module._replace_hooks.append(lambda old, new, user: seen.append((old.name, new, user.name)))
    with module.graph.inserting_after(found["relu"]):
        new = module.graph.call_method("exp", (found["x"],))
    found["relu"].replace_all_uses_with(new)
    module.graph.erase_node(found["relu"])
    assert seen == [("made", "exp"), ("relu", "exp", "neg"), ("erased", "relu")]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("jump", torch.add), ValueError),
        (("call_function", "add"), ValueError),
        (("call_method", torch.add), ValueError),
    ],
)
def test_nodes_are_of_known_kinds(arguments, error) -> None:
    with pytest.raises(error):
        fx.Graph().create_node(*arguments)
    with pytest.raises(TypeError, match="args must be a tuple"):
        fx.Graph().create_node("call_function", torch.add, [1])


def test_containers_that_cannot_be_changed() -> None:
    items, table = immutable_list([1, [2]]), immutable_dict({"a": 1})
    for action in (
        lambda: items.append(1),
        lambda: items.__setitem__(0, 2),
        lambda: table.update(b=2),
        lambda: table.pop("a"),
    ):
        with pytest.raises(NotImplementedError, match="does not support mutation"):
            action()
    assert pickle.loads(pickle.dumps((items, table))) == ([1, [2]], {"a": 1})
    assert type(_pytree.tree_map(lambda leaf: leaf + 1, table)) is immutable_dict
    assert hash(immutable_list([1])) == hash(immutable_list([1]))
    mapped = map_aggregate([1, {"a": (2,)}], lambda leaf: leaf * 10)
    assert (mapped, type(mapped), type(mapped[1])) == ([10, {"a": (20,)}], immutable_list, immutable_dict)


def test_arguments_by_name() -> None:
    assert normalize_function(torch.add, (1,), {"other": 2}, normalize_to_only_use_kwargs=True).kwargs["other"] == 2
    assert normalize_function(torch.add, (), {"nonsense": 2}) is None
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    node = module.graph.find_nodes(op="call_module")[0]
    x = node.args[0]
    assert node.normalized_arguments(module, normalize_to_only_use_kwargs=True) == ((), {"input": x})


def test_tables_and_lines(capsys) -> None:
    module, found = chain()
    module.graph.print_tabular()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert printed[3].split()[:2] == ["call_function", "relu"]
    assert found["x"].format_node() == "%x : [num_users=1] = placeholder[target=x]"
    assert "class <lambda>(torch.nn.Module):" in module.print_readable(print_output=False)


def test_a_folder_has_code_and_state(tmp_path, monkeypatch) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
            self.scale = nn.Parameter(torch.randn(4), requires_grad=False)
            self.register_buffer("shift", torch.randn(4))

        def forward(self, x):
            return torch.relu(self.block(x)) * self.scale + self.shift

    module = fx.symbolic_trace(Net().eval())
    module.to_folder(tmp_path / "written_net", "WrittenNet")
    monkeypatch.syspath_prepend(str(tmp_path))
    from written_net import WrittenNet

    again = WrittenNet().eval()
    x = torch.randn(2, 3)
    assert torch.equal(again(x), module(x))
    assert [name for name, _ in again.named_parameters()] == [name for name, _ in module.named_parameters()]
    assert not again.scale.requires_grad
    with pytest.raises(ValueError, match="no module has"):
        fx.symbolic_trace(Local()).to_folder(tmp_path / "other")


class Local(nn.Module):
    """Calls a function that cannot be imported."""

    def forward(self, x):
        return _made_here(x)


_made_here = (lambda: lambda x: x)()
fx.wrap("_made_here")
