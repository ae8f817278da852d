"""Passes: what each leaves out, what it keeps, and that a broken one is caught.

`fuzz.graph_passes` compares replays; here a slice of its programs and calls, and passes with planted errors that the
same comparison must find.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polyad
from fuzz import graph_passes as fuzzing
from polyad import graph as graphs, jit, nn
from polyad.errors import InvalidGraph
from polyad.graph import Graph, passes
from polyad.graph.building import Draft
from polyad.graph.passes import (
    dead,
    drop_views,
    fold_constants,
    folding,
    merge_common,
    merging,
    remove_dead,
    rewriting,
    views,
)
from polyad_conformance.samples import families


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph]


def taken(graph: Graph, one: passes.Pass) -> list[str]:
    return names(graphs.apply(graph, [one]))


def capture(function: Callable[..., Any], *inputs: Any) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.BakedValueWarning)
        return jit.capture(function, *inputs)


X = polyad.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


# ------------------------------------------------------------------------------------------------------------ dead code


def test_what_nobody_uses_is_left_out() -> None:
    def work(x):
        unused = x.exp()
        unused.mul_(2)
        unused[0].add_(x[0])
        return x.sin()

    graph = capture(work, X)
    assert names(graph) == ["exp", "mul_", "select", "select", "add_", "sin"]
    assert taken(graph, remove_dead) == ["sin"]


def checked(x):
    x.abs().multinomial(1)
    return x + 1


def exported(x):
    mine = x * 1
    shown = mine.numpy()
    mine.add_(1)
    return shown, x + 1


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("function", "kept"),
    [
        (lambda x: (x.add_(1), x.sin())[1], "add_"),
        (lambda x: (x.sum().item(), x.sin())[1], "item"),
        (lambda x: ((x * 2).requires_grad_(), x.sin())[1], "requires_grad_"),
        (checked, "check_all"),
        (lambda x: (exported(x), x + 1)[1], "add_"),
    ],
)  # fmt: skip
def test_what_has_an_effect_stays(function, kept: str) -> None:
    graph = capture(function, X.clone())
    assert kept in names(graph)
    assert kept in taken(graph, remove_dead)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (polyad.rand(3), x.sin())[1],
        lambda x: ((x * 1).uniform_(), x.sin() + polyad.rand(3))[1],
        lambda x: (nn.functional.dropout(x), polyad.rand(7), polyad.rand(3) + x)[2],
        lambda x: polyad.rand(3) + (nn.functional.dropout(x), x)[1],
    ],
)
def test_unused_draws_go_and_leave_the_others_theirs(function) -> None:
    graph = capture(function, X)
    found = graphs.optimize(graph)
    assert len(found) < len(graph)
    for again in (found, graphs.parse(found.text)):
        polyad.manual_seed(3)
        wanted, stands = function(X), polyad.get_rng_state()
        polyad.manual_seed(3)
        assert polyad.equal(again(X), wanted)
        assert polyad.equal(polyad.get_rng_state(), stands)


def test_a_write_through_a_view_counts_where_the_whole_is_used() -> None:
    def work(x):
        whole = x * 1
        row = whole.t()[1]
        row.mul_(3)
        whole[0].add_(1)
        return whole.sum()

    graph = capture(work, X)
    assert taken(graph, remove_dead) == names(graph)


# ------------------------------------------------------------------------------------------------------------ common


def test_what_is_computed_twice_is_computed_once() -> None:
    graph = capture(lambda x: (x.exp() + x.exp() * x.t().exp().t()).sum(), X)
    assert taken(graph, merge_common) == ["exp", "permute", "exp", "permute", "mul", "add", "sum"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: polyad.rand(3) + polyad.rand(3),
        lambda x: (x.exp(), x.exp()),
        lambda x: (x.exp(), x.exp().view(-1)),
        lambda x: (x[0], x[0]),
        lambda x: x.exp().add_(1) + x.exp(),
        lambda x: (x.exp() * 2, x.exp() * 3),
        lambda x: x * 1 + x * 1.0,
        lambda x: x * 0.0 + x * -0.0,
        lambda x: (a := x * 1, b := a.exp(), a.add_(1), b + a.exp())[-1],
    ],
    ids=["random", "outputs", "view", "views", "written", "two ends", "numbers", "zeros", "versions"],
)  # fmt: skip
def test_what_is_told_apart_stays_two(function) -> None:
    graph = capture(function, X)
    assert taken(graph, merge_common) == names(graph)


def test_what_is_not_recorded_may_end_in_two_outputs() -> None:
    def work(x):
        with polyad.no_grad():
            return x.exp() * 2, x.exp() * 3

    assert taken(capture(work, X), merge_common) == ["exp", "mul", "mul"]
    assert taken(capture(lambda x: ((x > 0).float(), (x > 0).double()), X), merge_common) == ["gt", "cast", "cast"]


# ------------------------------------------------------------------------------------------------------------ views


def test_a_view_that_shows_what_is_shown_already_is_left_out() -> None:
    graph = capture(lambda x: x.t().t().exp() + x.view(-1).view(3, 2).reshape(2, 3), X)
    assert taken(graph, drop_views) == ["permute", "exp", "reshape_view", "reshape_view", "add"]
    assert names(graphs.optimize(graph)) == ["exp", "add"]


def under_no_grad(x):
    with polyad.no_grad():
        back = x.t().t()
    return back * x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.t().t(),
        lambda x: (y := x * 1, y.t().t().mul_(2), y.sum())[-1],
        lambda x: (y := x * 1, z := y.t().t(), y.mul_(2), z.sum())[-1],
        lambda x: x[:1].as_strided((2, 3), (3, 1)).exp(),
        under_no_grad,
    ],
    ids=["returned", "written", "written behind", "part", "no_grad"],
)
def test_a_view_that_is_told_apart_stays(function) -> None:
    graph = capture(function, X)
    assert taken(graph, drop_views) == names(graph)


# ------------------------------------------------------------------------------------------------------------ constants


def test_what_follows_from_nothing_is_computed_now() -> None:
    def work(x):
        mask = polyad.arange(3).unsqueeze(0) < polyad.arange(2).unsqueeze(1)
        return x.masked_fill(mask, 0)

    graph = graphs.optimize(capture(work, X))
    assert names(graph) == ["masked_fill"]
    (constant,) = graph.constants
    assert constant.tensor.tolist() == [[False, False, False], [True, False, False]]
    assert graphs.parse(graph.text, graph.state).text == graph.text


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1, polyad.zeros(3)),
        lambda x: x + polyad.zeros(3).add_(1),
        lambda x: x + polyad.zeros(5)[1:4].fill_(2),
        lambda x: x + polyad.rand(3),
        lambda x: x.sum() + polyad.ones(folding.LARGEST),
        lambda x: x + nn.Parameter(polyad.ones(3)).exp(),
    ],
    ids=["returned", "written", "written view", "random", "large", "parameter"],
)  # fmt: skip
def test_what_may_differ_is_computed_each_time(function) -> None:
    graph = capture(function, X)
    assert taken(graph, fold_constants) == names(graph)


# ------------------------------------------------------------------------------------------------------------ the frame


def test_a_pass_that_breaks_a_graph_is_named_and_the_graph_kept() -> None:
    graph = capture(lambda x: (x.exp() + 1).sin(), X)

    def drop_first(graph: Graph) -> Graph:
        return dataclasses.replace(graph, nodes=graph.nodes[1:])

    def fail(graph: Graph) -> Graph:
        raise KeyError("x")

    for one, what in ((drop_first, "is used before it is made"), (fail, "KeyError: 'x'")):
        with pytest.raises(InvalidGraph, match=f"pass {one.__name__} broke the graph: .*{what}") as caught:
            graphs.apply(graph, [remove_dead, one])
        path = Path(caught.value.lines["graph before the pass"])
        assert graphs.parse(path.read_text(encoding="utf-8")).text == graph.text
        path.unlink()


def test_lines_modules_and_grad_modes_are_kept() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4))
    graph = capture(model, X)
    found = graphs.optimize(graph)
    assert [(node.line, node.modules, node.grad) for node in found] == [
        (node.line, node.modules, node.grad) for node in graph
    ]
    assert found.after == graph.after
    assert graphs.optimize(found).text == found.text


def test_a_check_still_raises() -> None:
    graph = graphs.optimize(capture(checked, X))
    assert "check_all" in names(graph)
    with pytest.raises(RuntimeError, match="multinomial"):
        graph(X * float("nan"))


# ------------------------------------------------------------------------------------------------------------ replays


def test_random_programs_give_the_same_after_each_pass() -> None:
    found = list(fuzzing.check_programs(30, seed=2026))
    assert [one for one in found if one[1]] == []
    assert len(found) > 20


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", sorted(families())[::9])
def test_calls_give_the_same_after_each_pass(family: str) -> None:
    listed, _ = families()[family]
    first = list({sample.op: sample for sample in reversed(listed)}.values())
    found = list(fuzzing.check_samples(first[:6], 1))
    assert [one for one in found if one[1]] == []


# ------------------------------------------------------------------------------------------------------------ sabotages


def forget(module: Any, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Let *module* find no storage or value where it asks *name*."""
    return lambda patch: patch.setattr(module, name, lambda *_: set())


def ignore(module: Any, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Let *module* get no for what it asks *name*."""
    return lambda patch: patch.setattr(module, name, lambda _: False)


def takes_view(node: graphs.Node) -> bool:
    return node.op.kind == "view"


def viewed_before(x):
    whole = x * 1
    row = whole[1:]
    whole.mul_(3)
    return row


def twice_computed(x):
    first = x.exp()
    first[1:].add_(1)
    return x.exp() + 1


SABOTAGES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[..., Any]]] = {
    "dead code forgets where generators end": (
        lambda patch: patch.setattr(Draft, "ends", property(lambda draft: [], lambda draft, ends: None), raising=False),
        lambda x: (polyad.rand(3), x * 1)[1],
    ),
    "dead code drops views": (lambda patch: patch.setattr(dead, "_earlier", lambda *_: set()), viewed_before),
    "dead code forgets memory from outside": (forget(dead, "held"), lambda x: (x.add_(1), x.sum(), None)[2]),
    "common calls ignore writes": (forget(merging, "written"), twice_computed),
    "common calls merge draws": (ignore(merging, "draws"), lambda x: x + polyad.rand(3) * polyad.rand(3)),
    "common calls merge what is returned": (forget(merging, "held"), lambda x: (x > 1, x > 1)),
    "common calls share histories": (forget(merging, "differentiable"), lambda x: (x.exp() * 2, x.exp() * 3)),
    "folding ignores writes": (forget(folding, "written"), lambda x: x + polyad.zeros(5)[2:].add_(x)),
    "folding gives away constants": (forget(folding, "held"), lambda x: (x * 1, polyad.zeros(3))),
    "folding draws": (ignore(folding, "draws"), lambda x: x + polyad.rand(3)),
    "views lose that they are recorded": (forget(views, "differentiable"), under_no_grad),
    "views forget who changes them": (
        forget(views, "changed"),
        lambda x: (y := x * 1, z := y.view(3, 1).view(3), y.mul_(2), z + 1)[-1],
    ),
    "views of a part count as whole": (
        lambda patch: patch.setattr(views, "_whole_view", lambda _, node: node.uses[0] if takes_view(node) else None),
        lambda x: x[:1].as_strided((3,), (1,)) * 2,
    ),
    "versions are not counted": (
        lambda patch: patch.setattr(rewriting, "writes_of", lambda graph: [set() for _ in graph.nodes]),
        lambda x: (x.add_(1), x.sum())[1],
    ),
}


@pytest.mark.parametrize("sabotage", sorted(SABOTAGES))
def test_a_planted_error_is_found(sabotage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, function = SABOTAGES[sabotage]

    def inputs(grad: bool) -> list[polyad.Tensor]:
        return [polyad.tensor([0.5, 1.0, 2.0]).requires_grad_(grad)]

    def found() -> list[tuple[str, str]]:
        return [one for grad in (False, True) for one in fuzzing.differences(graph, lambda grad=grad: inputs(grad))]

    graph = capture(function, *inputs(False))
    assert found() == []
    plant(monkeypatch)
    assert found()
