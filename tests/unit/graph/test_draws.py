"""Random numbers of graphs: each replay draws what the function would, and the graph says which these are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import polyad
import polyad.nn.functional as F
from polyad import graph as graphs, jit
from polyad.errors import InvalidGraph
from polyad.graph import Draw, Graph

OWN = polyad.Generator()


def plain(x: polyad.Tensor) -> Any:
    return polyad.rand(5), F.dropout(x, 0.5), polyad.randn(3, generator=OWN), polyad.randint(0, 9, (2,))


def put_back(x: polyad.Tensor) -> Any:
    with polyad.random.fork_rng():
        first = F.dropout(x, 0.5)
    second = F.dropout(x, 0.5)
    with polyad.random.fork_rng():
        third = polyad.rand(9)
    return first, second, third


def started_anew(x: polyad.Tensor) -> Any:
    first = polyad.rand(3)
    polyad.manual_seed(5)
    OWN.manual_seed(6)
    return first, F.dropout(x, 0.5), polyad.rand(3, generator=OWN)


def by_data(x: polyad.Tensor) -> Any:
    return polyad.poisson(x * 100), polyad.rand(3), polyad.bernoulli(x)


def places() -> list[Any]:
    return [one.get_state().tolist() for one in (polyad.default_generator, OWN)]


@pytest.mark.parametrize("function", [plain, put_back, started_anew, by_data])
@pytest.mark.filterwarnings("ignore::polyad.jit.BakedValueWarning")
def test_replays_draw_what_the_function_would(function: Callable[..., Any]) -> None:
    inputs = [polyad.full((4,), 0.25 * number) for number in range(4)]

    def history(captured: bool) -> list[Any]:
        polyad.manual_seed(1)
        OWN.manual_seed(2)
        first = function(inputs[0])
        calls: list[Any] = [function] * 3
        if captured:
            polyad.manual_seed(1)
            OWN.manual_seed(2)
            graph = jit.capture(function, inputs[0])
            read = graphs.parse(graph.text, graph.state)
            assert read.text == graph.text
            calls = [graph, read, graph]
        found = [[[one.tolist() for one in first], places()]]
        for call, x in zip(calls, inputs[1:], strict=True):
            found.append([[one.tolist() for one in call(x)], places()])
        return found

    assert history(True) == history(False)


def test_a_graph_says_what_is_drawn() -> None:
    polyad.manual_seed(1)
    OWN.manual_seed(2)
    graph = jit.capture(plain, polyad.ones(4))
    assert [node.draws for node in graph] == [Draw(0, 2), Draw(2, 1), Draw(0, 1), Draw(3, 1)]
    assert graph.ends == [(polyad.default_generator, Draw(4, 0)), (OWN, Draw(1, 0))]
    assert "draws 1 from 2" in str(graph)
    polyad.manual_seed(1)
    graph = jit.capture(started_anew, polyad.ones(4))
    assert [node.draws for node in graph] == [Draw(0, 1), Draw(0, 1, 5), Draw(0, 1, 6)]
    assert "draws 1 from 0 of seed 5" in str(graph)


def without(graph: Graph, number: int) -> Graph:
    """The graph without a call whose result nobody needs."""
    (dropped,) = graph.nodes[number].results
    values = [dataclasses.replace(value, number=at) for at, value in enumerate(graph.values) if value.number != dropped]
    assert dropped == len(values)
    storages = graph.storages[:-1]
    nodes = [node for at, node in enumerate(graph.nodes) if at != number]
    return dataclasses.replace(graph, values=values, storages=storages, nodes=nodes)


def test_a_call_that_is_left_out_leaves_the_others_theirs() -> None:
    def work(x: polyad.Tensor) -> Any:
        y = x + polyad.rand(2)
        polyad.rand(64)
        return y

    graph = jit.capture(work, polyad.ones(2))
    fewer = graphs.verify(without(graph, 2))
    found = []
    for call in (graph, fewer):
        polyad.manual_seed(4)
        found.append([[call(polyad.zeros(2)).tolist() for _ in range(2)], places()[0]])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("ends at 1", "ends 1", "line"),
        ("ends at 1", "ends at -1", "no place of a generator"),
        ("default_generator  ", "generator(7)  ", "state has no generator"),
        ("draws 1 from 0", "draws one from 0", "has no meaning"),
        (
            "= add(%0, %x)",
            "= add(%0, %x)  float32 (1,) on cpu in s2  # draws 1 from 0 #",
            "it draws from no generator|meaning",
        ),
    ],
)
def test_draws_that_a_text_cannot_have(old: str, new: str, what: str) -> None:
    text = jit.capture(lambda x: polyad.rand(1) + x, polyad.ones(1)).text
    assert old in text
    with pytest.raises(InvalidGraph, match=what):
        graphs.parse(text.replace(old, new, 1))


def test_a_call_that_draws_nothing_says_so() -> None:
    graph = jit.capture(lambda x: x + 1, polyad.ones(1))
    with pytest.raises(InvalidGraph, match="it draws from no generator"):
        graphs.parse(graph.text.replace("# test_draws", "# draws 1 from 0, test_draws"))
