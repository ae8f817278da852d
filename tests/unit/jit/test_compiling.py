"""Graphs that a backend compiles as a whole: what it is shown, when it is asked, and when its code is used."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from polyad_tier0.backend import StorageOnly

import polyad
from polyad import backends
from polyad.backend import API_VERSION, BackendInfo, Capabilities
from polyad.errors import CompilerFailure, KernelFailure
from polyad.graph import Graph
from polyad.graph.structure import Ref

KNOWN = {
    "mul": operator.mul,
    "add": lambda a, b: a + b,
    "neg": np.negative,
    "permute": np.transpose,
    "relu": lambda a: np.maximum(a, 0),
    "cat": np.concatenate,
}


class Compiler(StorageOnly):
    """Device "whole": storage, and graphs of a few ops, which NumPy computes; others are declined.

    Attributes:
        asked: the graphs that it was shown.
        runs: how often compiled code ran.
    """

    def __init__(self, features: tuple[str, ...] = ("graphs",)) -> None:
        self.info = BackendInfo("whole", API_VERSION, Capabilities(features=frozenset(features)), indexed=False)
        self.asked: list[Graph] = []
        self.runs = 0
        self.failure = ""
        self.wrong_shape = False

    def compile_graph(self, graph: Graph) -> Any:
        self.asked.append(graph)
        if self.failure:
            raise CompilerFailure(self.failure)
        if any(node.name not in KNOWN for node in graph):
            return None

        def run(*arrays: Any) -> list[Any]:
            self.runs += 1
            given = zip((*graph.inputs, *(constant.value for constant in graph.constants)), arrays, strict=True)
            found = {value.number: array.values() for value, array in given}

            def filled(operand: Any) -> Any:
                if isinstance(operand, list):
                    return [filled(part) for part in operand]
                return found[operand.number] if isinstance(operand, Ref) else operand

            for node in graph:
                (result,) = node.results
                found[result] = KNOWN[node.name](*map(filled, node.operands), *node.params.values())
            results = []
            for value in graph.results:
                made = np.array(found[value.number], order="C")
                results.append(self.from_host(made[:1] if self.wrong_shape else made, value.dtype, value.device))
            return results

        return run


@pytest.fixture
def whole() -> Iterator[Compiler]:
    backend = Compiler()
    with backends.register("whole", backend), backends.fallback("allow"):
        yield backend


def ones(*shape: int, **kwargs: Any) -> polyad.Tensor:
    return polyad.ones(*shape, device="whole", **kwargs)


def test_a_backend_is_asked_once_and_its_code_runs(whole) -> None:
    weight = ones(3)
    graph = polyad.jit.capture(lambda x, y: {"a": [x * 2 + weight, "text"], "b": -(x * y)}, ones(2, 3), ones(3))
    assert whole.asked == []
    for factor in (1, 3):
        weight.fill_(factor)
        got = graph(ones(2, 3) * factor, ones(3))
        assert got["a"][0].tolist() == [[3.0 * factor] * 3] * 2
        assert got["a"][1] == "text"
        assert got["b"].tolist() == [[-1.0 * factor] * 3] * 2
        assert got["b"].dtype is polyad.float32
    assert (len(whole.asked), whole.runs, graph.compiled) == (1, 2, True)


def test_what_a_backend_is_shown(whole) -> None:
    weight = ones(3)
    polyad.jit.capture(lambda x: polyad.cat([x.T * weight, x]).relu(), ones(3, 3))(ones(3, 3))
    (graph,) = whole.asked
    assert {storage.device for storage in graph.storages} == {polyad.device("whole")}
    (x,), (constant,) = graph.inputs, graph.constants
    assert [node.name for node in graph] == ["permute", "mul", "cat", "relu"]
    permute, mul, cat, relu = graph.nodes
    assert permute.operands == (Ref(x.number),)
    assert permute.params == {"dims": (1, 0)}
    assert mul.operands == (Ref(*permute.results), Ref(constant.value.number))
    assert cat.operands == ([Ref(*mul.results), Ref(x.number)],)
    assert [value.number for value in graph.results] == list(relu.results)
    assert graph.results[0].shape == (6, 3)
    with pytest.raises(AttributeError):
        graph.nodes = ()


def test_a_declined_graph_is_replayed_and_not_asked_for_again(whole) -> None:
    graph = polyad.jit.capture(lambda x: x.exp() * 0 + 2, ones(2))
    assert graph(ones(2)).tolist() == graph(ones(2)).tolist() == [2.0, 2.0]
    assert (len(whole.asked), whole.runs, graph.compiled) == (1, 0, False)


def test_a_backend_that_declares_no_graphs_is_not_asked(whole) -> None:
    whole.info = BackendInfo("whole", API_VERSION, indexed=False)
    assert polyad.jit.capture(lambda x: x * 2, ones(2))(ones(2)).tolist() == [2.0, 2.0]
    assert whole.asked == []


def write(x):
    y = x * 2
    y.add_(1)
    return y


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (write, "it writes"),
        (lambda x: x * 2 + polyad.rand(2, device="whole"), "it draws random numbers"),
        (lambda x: (x * 2)[:1], "a result is a view"),
        (lambda x: (x * 2, x), "a result is an input"),
        (lambda x: (x * 2).detach(), "a result shares memory"),
        (lambda x: (x * 2).cpu() + 1, "it is on two devices"),
    ],
)
def test_graphs_that_do_more_than_compute_are_not_shown(whole, function, why) -> None:
    graph = polyad.jit.capture(function, ones(2))
    graph(ones(2))
    assert whole.asked == [], why


def test_where_gradients_are_recorded_calls_run_one_by_one(whole) -> None:
    graph = polyad.jit.capture(lambda x: x * x, ones(2))
    x = ones(2, requires_grad=True)
    graph(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert whole.runs == 0
    with polyad.no_grad():
        assert graph(x).tolist() == [1.0, 1.0]
    with polyad.inference_mode():
        assert graph(x).is_inference()
    assert whole.runs == 2
    assert polyad.func.grad(lambda x: graph(x).sum())(ones(2)).tolist() == [2.0, 2.0]
    assert whole.runs == 2

    def inner(x):
        with polyad.enable_grad():
            return x * x

    with polyad.no_grad():
        graph = polyad.jit.capture(inner, ones(2))
        assert graph(x).requires_grad
    assert whole.runs == 2


def test_inputs_are_checked_before_compiled_code_gets_them(whole) -> None:
    graph = polyad.jit.capture(lambda x: x * 2, ones(2))
    graph(ones(2))
    with pytest.raises(RuntimeError, match="shape"):
        graph(ones(3))
    assert graph(ones(4)[::2]).tolist() == [2.0, 2.0]


def test_a_compiler_that_fails(whole) -> None:
    whole.failure = "line 3: no such instruction"
    graph = polyad.jit.capture(lambda x: x * 2, ones(2))
    with pytest.warns(UserWarning, match=r"whole does not compile this graph; .* line 3: no such instruction"):
        assert graph(ones(2)).tolist() == [2.0, 2.0]
    assert graph(ones(2)).tolist() == [2.0, 2.0]


def test_compiled_code_that_returns_something_else(whole) -> None:
    whole.wrong_shape = True
    graph = polyad.jit.capture(lambda x: x * 2, ones(2))
    with pytest.raises(KernelFailure, match=r"returned shapes \[\(1,\)\], captured were \[\(2,\)\]"):
        graph(ones(2))
