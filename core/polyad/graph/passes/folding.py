"""Constant folding: what is the same on each replay is computed now, once.

That is what follows from parameters alone: masks of `arange`, tables, scaled constants. Parameters of a model and
other tensors from outside are used by reference, so nothing that follows from them is.
"""

from __future__ import annotations

from typing import Any, Final

from ...base.state import state
from ...tensor import Tensor
from ..expressions import names_of
from ..graph import Graph, Node, numbers
from ..structure import Ref, leaves_of, replace
from .facts import draws, held, is_op, storages_of, written
from .rewriting import Rewriting

LARGEST: Final = 1 << 20
"""Memory of more bytes is computed anew each time rather than held on to."""


def fold_constants(graph: Graph, parameters: bool = False) -> Graph:
    """*graph* with constants in place of calls that have no tensors from outside, if nobody writes to what they give,
    or gets it: what is returned is new memory on each replay.

    With *parameters* tensors from outside count as constants where they are not written: for an export, which has them
    as they are now.
    """
    writes = written(graph)
    busy = held(graph) | writes
    found: dict[int, Tensor] = {}
    if parameters:
        fixed = [one for one in graph.constants if one.value.storage.number not in writes]
        found = {one.value.number: one.tensor for one in fixed}
    gone = set()
    for at, node in enumerate(graph.nodes):
        if not _same_each_time(graph, node) or not set(node.uses) <= found.keys():
            continue
        if not busy.isdisjoint(storages_of(graph, node.results)):
            continue
        result = _computed(node, found)
        if result is not None:
            found.update(zip(node.results, result, strict=True))
            gone.add(at)
    if not gone:
        return graph
    return _without(graph, gone, found)


def _same_each_time(graph: Graph, node: Node) -> bool:
    sizes = [graph.values[number].storage.nbytes for number in node.results]
    fixed = not names_of(node.args) and all(graph.values[number].general is None for number in node.results)
    return fixed and is_op(node) and not draws(node) and bool(sizes) and max(sizes) <= LARGEST


def _computed(node: Node, found: dict[int, Tensor]) -> list[Tensor] | None:
    """The tensors that a call gives; None if it fails, which it is to do where the user sees it."""
    modes, grad = state.modes, state.grad_enabled
    state.modes, state.grad_enabled = state.no_modes, False
    try:
        result = node.op.call(*replace(node.args, Ref, lambda ref: found[ref.number]))
    except Exception:
        return None
    finally:
        state.modes, state.grad_enabled = modes, grad
    tensors: list[Tensor] = leaves_of(result, Tensor)
    return tensors if len(tensors) == len(node.results) else None


def _without(graph: Graph, gone: set[int], found: dict[int, Tensor]) -> Graph:
    used = set(numbers(graph.outputs))
    for at, node in enumerate(graph.nodes):
        if at not in gone:
            used.update(node.uses)
    rewriting = Rewriting(graph)
    rewriting.keep(lambda at, node: at not in gone)
    made: list[Any] = [number for node in (graph.nodes[at] for at in sorted(gone)) for number in node.results]
    for number in made:
        if number in used:
            rewriting.fold(number, found[number])
    return rewriting.finish()
