"""What `polyad.fx.symbolic_trace` records, by nodes and code, and what it refuses."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import threading
from math import sqrt
from typing import NamedTuple

import pytest

import polyad as torch
from polyad import fx, nn

F = nn.functional


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.scale = nn.Parameter(torch.full((4, 1, 1), 2.0))
        self.register_buffer("shift", torch.ones(1))

    def forward(self, x):
        y = self.norm(self.conv(x)) * self.scale + self.shift
        y = F.relu(y)
        return {"sum": y.flatten(1).sum(dim=1), "shape": (y.shape[0], y.size(1))}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.head = nn.Sequential(nn.Identity(), nn.ReLU())

    def forward(self, x):
        return self.head(self.block(x)["sum"])


def written(function, **concrete):
    """The nodes of the graph, as (op, name, target as text)."""
    graph = fx.symbolic_trace(function, concrete or None).graph
    return [(node.op, node.name, getattr(node.target, "__name__", node.target)) for node in graph.nodes]


def test_nodes_of_a_model() -> None:
    assert written(Block()) == [
        ("placeholder", "x", "x"),
        ("call_module", "conv", "conv"),
        ("call_module", "norm", "norm"),
        ("get_attr", "scale", "scale"),
        ("call_function", "mul", "mul"),
        ("get_attr", "shift", "shift"),
        ("call_function", "add", "add"),
        ("call_function", "relu", "relu"),
        ("call_method", "flatten", "flatten"),
        ("call_method", "sum_1", "sum"),
        ("call_function", "getattr_1", "getattr"),
        ("call_function", "getitem", "getitem"),
        ("call_method", "size", "size"),
        ("output", "output", "output"),
    ]


def test_a_graph_computes_what_the_model_does() -> None:
    model = Net().eval()
    module = fx.symbolic_trace(model)
    module.graph.lint()
    x = torch.randn(2, 3, 5, 5)
    assert torch.equal(module(x), model(x))
    assert [node.target for node in module.graph.find_nodes(op="call_module")] == [
        "block.conv", "block.norm", "head.0", "head.1",
    ]  # fmt: skip
    assert module.block.conv is model.block.conv
    captured = torch.jit.capture(module, x)
    assert torch.equal(captured(x), model(x))


def test_the_code() -> None:
    def function(x, *rest, scale=2, **more):
        y = torch.cat([x, rest[0]], dim=0)[1:, None]
        y = -(y**scale)
        return y.to(torch.float64), more["key"], slice(0, y), (y,)

    assert fx.symbolic_trace(function).code == (
        "\n\n\ndef forward(self, x, scale = 2, *rest, **more):\n"
        "    _rest = rest\n"
        "    _more = more\n"
        "    getitem = _rest[0];  _rest = None\n"
        "    cat = torch.cat([x, getitem], dim = 0);  x = getitem = None\n"
        "    getitem_1 = cat[(slice(1, None, None), None)];  cat = None\n"
        "    pow_1 = getitem_1 ** scale;  getitem_1 = scale = None\n"
        "    neg = -pow_1;  pow_1 = None\n"
        "    to = neg.to(torch.float64)\n"
        "    getitem_2 = _more['key'];  _more = None\n"
        "    return (to, getitem_2, slice(0, neg, None), (neg,))\n"
    )


BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
def test_operators(function) -> None:
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 2.0])
    assert torch.equal(fx.symbolic_trace(lambda a, b: function(a, b))(x, y), function(x, y))
    if function is not operator.matmul:
        assert torch.equal(fx.symbolic_trace(lambda a: function(2.0, a))(x), function(2.0, x))
    module = fx.symbolic_trace(lambda a: function(y, a))  # a tensor's own operator sees the proxy
    assert torch.equal(module(x), function(y, x))
    assert "_tensor_constant0" in module.code


def test_negative_numbers_are_operands() -> None:
    assert fx.symbolic_trace(lambda x: (-2) ** x + (-1j) * x)(2) == 4 - 2j


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: x if x.sum() > 0 else -x, "truth"),
        (lambda x: [one for one in x], "iterated"),  # noqa: C416
        (lambda x: x.__len__(), r"x\.shape\[0\]"),
        (lambda x: torch.zeros(2)[: int(x)] if x is None else (x and x), "truth"),
        (lambda x: copy.deepcopy(x), "copied"),
        (lambda x: torch.add(*x), "iterated"),
    ],
)
def test_decisions_by_values_are_refused(function, told) -> None:
    with pytest.raises(fx.proxy.TraceError, match=told) as caught:
        fx.symbolic_trace(function)
    assert isinstance(caught.value, ValueError)


def test_unpacking_knows_how_many() -> None:
    def function(x):
        values, (low, high) = x
        return values + low * high

    assert fx.symbolic_trace(function)((1, (2, 3))) == 7


def inner(x, y):
    return x[0] if len(x) else y


fx.wrap("inner")
fx.wrap("len")


@fx.wrap
def decorated(x):
    return x * 3


class Pair(NamedTuple):
    left: object
    right: object


def test_wrapped_functions_are_nodes() -> None:
    before = inner, decorated

    def function(x):
        return inner(x, 2) + decorated(x)[0] + len(x) + inner([5], 1)

    module = fx.symbolic_trace(function)
    assert [name for op, name, _ in written(function) if op == "call_function"][:3] == ["inner", "decorated", "getitem"]
    assert module([1, 2]) == 1 + 1 + 2 + 5
    assert fx.symbolic_trace(module)([1, 2]) == 9
    assert (inner, decorated) == before
    assert "len" not in globals()
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("inner")


def test_functions_of_math_are_nodes() -> None:
    assert ("call_function", "sqrt", "sqrt") in written(lambda x: sqrt(x.size(0)))
    module = fx.symbolic_trace(lambda x: sqrt(x.size(0)))
    assert module(torch.ones(4)) == 2
    with pytest.raises(TypeError, match="real number"):
        fx.Tracer(autowrap_modules=()).trace(lambda x: math.sqrt(x))


def test_concrete_arguments() -> None:
    def function(x, flag, pair):
        return x + pair["a"] if flag else x - pair["a"]

    module = fx.symbolic_trace(function, {"flag": True, "pair": {"a": fx.PH, "b": 3}})
    assert module(5, True, {"a": 1, "b": 3}) == 6
    with pytest.raises(AssertionError, match="flag"):
        module(5, False, {"a": 1, "b": 3})
    assert fx.symbolic_trace(function, {"flag": False})(5, False, {"a": 1}) == 4


def test_leaves_are_chosen_by_the_tracer() -> None:
    class Through(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, nn.BatchNorm2d)

    model = Net().eval()
    graph = Through().trace(model)
    names = [node.name for node in graph.nodes]
    assert names[:5] == ["x", "block_conv_weight", "block_conv_bias", "conv2d", "block_norm"]
    x = torch.randn(2, 3, 4, 4)
    assert torch.equal(fx.GraphModule(model, graph)(x), model(x))


def test_nodes_know_the_modules_they_are_from() -> None:
    tracer = fx.Tracer()
    graph = tracer.trace(Net())
    found = {node.name: node.meta.get("nn_module_stack", {}) for node in graph.nodes}
    assert list(found["block_conv"].values()) == [("block", Block), ("block.conv", nn.Conv2d)]
    assert found["x"] == {}
    assert tracer.node_name_to_scope["relu"] == ("block", Block)
    assert tracer.scope.module_path == ""


def test_functions_do_not_look_at_proxies() -> None:
    class Eager(fx.Proxy):
        @property
        def shape(self):
            return self.tracer.create_proxy("call_method", "size", (self,), {})

    class Eagerly(fx.Tracer):
        def proxy(self, node):
            return Eager(node, self)

    graph = Eagerly().trace(lambda x: F.softmax(F.conv2d(x, x), dim=-1))
    assert [node.name for node in graph.nodes] == ["x", "conv2d", "softmax", "output"]


def test_modules_outside_of_the_root_are_named() -> None:
    layer = nn.Linear(1, 1)
    with pytest.raises(NameError, match="not installed as a submodule"):
        fx.symbolic_trace(lambda x: layer(x))


def test_tuples_with_names_and_constants() -> None:
    constant = torch.tensor([4.0])
    module = fx.symbolic_trace(lambda x: Pair(x + constant, constant))
    result = module(torch.ones(1))
    assert isinstance(result, Pair)
    assert result.left.item() == 5
    assert result.right is module._tensor_constant0
    assert dict(module.named_buffers()) == {"_tensor_constant0": constant}


def test_attributes_and_items_are_written() -> None:
    def function(x):
        y = x.clone()
        y[0] = 5.0
        y.add_(1)
        return y.T, y.real

    module = fx.symbolic_trace(function)
    assert "setitem" in module.code
    assert module(torch.ones(2, 2))[1].tolist() == [[6, 6], [2, 2]]


def test_copies_and_pickles() -> None:
    module = fx.symbolic_trace(Net().eval())
    x = torch.randn(1, 3, 4, 4)
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), copy.copy(module)):
        assert again.code == module.code
        assert type(again).__name__ == "Net"
        assert torch.equal(again(x), module(x))
        again.graph.lint()
        node = next(iter(again.graph.nodes))
        assert node.graph is again.graph is not module.graph
    assert copy.deepcopy(module).block.conv is not module.block.conv
    assert copy.copy(module).block.conv is module.block.conv


def test_threads_trace_at_once() -> None:
    barrier = threading.Barrier(2)
    graphs = []

    class Waiting(nn.Module):
        def __init__(self, rounds):
            super().__init__()
            self.w, self.rounds = nn.Parameter(torch.ones(1)), rounds

        def forward(self, x):
            for _ in range(2):
                barrier.wait(20)
                x = decorated(x) * self.w
            for _ in range(self.rounds):
                x = decorated(x) + self.w
            return x

    threads = [threading.Thread(target=lambda n=n: graphs.append(fx.symbolic_trace(Waiting(n)))) for n in (0, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(len(module.graph.find_nodes(op="call_function", target=decorated)) for module in graphs)
    assert found == [2, 202]
    assert {len(module.graph.find_nodes(op="get_attr")) for module in graphs} == {1}
    assert "__getattribute__" not in vars(nn.Module)


def test_a_thread_that_does_not_trace_sees_modules_as_they_are() -> None:
    layer = nn.Linear(1, 1)
    seen = []

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = layer

        def forward(self, x):
            thread = threading.Thread(target=lambda: seen.append((layer.weight, layer(torch.ones(1)))))
            thread.start()
            thread.join()
            return self.inner(x)

    fx.symbolic_trace(Outer())
    assert seen[0][0] is layer.weight
    assert seen[0][1].shape == (1,)
    assert "__getattribute__" not in vars(nn.Module)
