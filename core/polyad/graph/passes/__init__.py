"""Passes: functions from a graph to one that does the same with less work.

rewriting.py   writing a graph anew: values, memory and versions of the calls that are left
facts.py       what a pass asks of a node, answered from declarations
dead.py        leave out what nobody uses
merging.py     compute once what is computed twice
folding.py     compute now what is the same on each replay
views.py       leave out views that show what is shown already

A replay of what a pass gives equals a replay of what it got: values, who shares memory with whom, versions of memory
from outside, gradients, random bits. Two things may differ, where nobody looks for them: an error that only an unused
result would have raised is not raised, and a gradient that reaches a merged call from two sides is added up before it
goes through the call, not behind it, which may round otherwise.

A pass is a plain function. It reads what ops and effects declare (structure, kind, an `Effect`'s data), never a name.
To add a pass, write the function in a module of its own, list it here, and plant two errors in
``tests/unit/graph/test_passes.py``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Final

from ...errors import InvalidGraph, PolyadError
from ..graph import Graph
from ..verify import verify
from .dead import remove_dead
from .folding import fold_constants
from .merging import merge_common
from .rewriting import same_nodes
from .views import drop_views

__all__ = ["STANDARD", "Pass", "apply", "drop_views", "fold_constants", "merge_common", "optimize", "remove_dead"]

Pass = Callable[[Graph], Graph]

STANDARD: Final[tuple[Pass, ...]] = (fold_constants, drop_views, merge_common, remove_dead)
"""What `optimize` runs, in order."""


def apply(graph: Graph, passes: Iterable[Pass]) -> Graph:
    """What *passes* make of *graph*, one after the other, each verified.

    Raises RuntimeError that names the pass that fails, or whose graph does not hold together; the graph that it was
    given is kept in a file, which the error names.
    """
    for one in passes:
        graph = _applied(graph, one)
    return graph


def optimize(graph: Graph) -> Graph:
    """A graph that gives what *graph* gives, with less work: without calls that nobody needs (`STANDARD`).

    >>> import polyad
    >>> graph = polyad.jit.capture(lambda x: (x.exp() + x.exp(), x.sin())[0], polyad.ones(2))
    >>> [node.name for node in graph]
    ['exp', 'exp', 'add', 'sin']
    >>> [node.name for node in polyad.graph.optimize(graph)]
    ['exp', 'add']
    """
    while True:
        before, graph = graph, apply(graph, STANDARD)
        if same_nodes(before.nodes, graph.nodes):
            return graph


def _applied(graph: Graph, one: Pass) -> Graph:
    try:
        return verify(one(graph))
    except Exception as error:
        said = error.message if isinstance(error, PolyadError) else f"{type(error).__name__}: {error}"
        raise InvalidGraph(
            f"{graph.name}: pass {one.__name__} broke the graph: {said}",
            notes={"graph before the pass": _saved(graph)},
            fix="report the pass with that file; the graph itself still works",
        ) from error


def _saved(graph: Graph) -> str:
    """The path of a new file with the text of *graph*."""
    number, path = tempfile.mkstemp(prefix="polyad-", suffix=".graph", text=True)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(graph.text)
    return path
