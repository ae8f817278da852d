"""Views that show what a tensor before them shows already: transposes of transposes, shapes there and back."""

from __future__ import annotations

import math

from ...base.shapes_and_strides import has_shared_places
from ..graph import Graph, Node, numbers
from ..sizes import captures_of
from ..values import Value
from .facts import changed, differentiable, is_op, only_makes, only_writes
from .rewriting import Rewriting


def drop_views(graph: Graph) -> Graph:
    """*graph* with a tensor in place of a view of it that is alike, where nobody could tell.

    The view must have come about by views of all elements, so that gradients go through them unchanged, and neither it
    may be returned, changed, or known to an effect that does more than to read or write, nor the tensor be written to
    under the view's name. A view that was taken without gradients stays if the tensor may have a history.
    """
    captures = captures_of(graph)
    distinct = changed(graph) | set(numbers(graph.outputs)) | _known(graph)
    recorded = differentiable(graph)
    before: dict[int, int] = {}
    instead: dict[int, int] = {}
    for node in graph.nodes:
        number = _whole_view(captures, node)
        if number is None:
            continue
        (result,) = node.results
        if node.grad is None or number not in recorded:
            before[result] = number
        same = _alike(captures, result, before)
        if same is not None and result not in distinct:
            instead[result] = same
    if not instead:
        return graph
    rewriting = Rewriting(graph)
    rewriting.keep(lambda at, node: instead.keys().isdisjoint(node.results))
    rewriting.substitute(instead)
    return rewriting.finish()


def _known(graph: Graph) -> set[int]:
    """The values that an effect may tell apart, or a call that records though the view may not have been recorded."""
    found: set[int] = set()
    for node in graph.nodes:
        plain = is_op(node) or only_makes(node) or only_writes(node)
        if not plain or node.grad:
            found.update(node.uses)
    return found


def _whole_view(captures: list[Graph], node: Node) -> int | None:
    """The operand of which a call is a view of all elements, each in one place, in all captures; None if it is none."""
    if not is_op(node) or node.op.kind != "view" or len(node.results) != 1 or len(node.uses) != 1:
        return None
    (given,), (result,) = node.uses, node.results
    pairs = [(graph.values[given], graph.values[result]) for graph in captures]
    same = all(one.storage == other.storage and one.dtype is other.dtype for one, other in pairs)
    whole = all(
        math.prod(one.shape) == math.prod(other.shape) and not _overlaps(one) and not _overlaps(other)
        for one, other in pairs
    )
    return given if same and whole else None


def _overlaps(value: Value) -> bool:
    return has_shared_places(value.shape, value.layout.strides)


def _alike(captures: list[Graph], result: int, before: dict[int, int]) -> int | None:
    """The nearest tensor that *result* is a view of and that shows the same, in all captures."""
    number = before.get(result)
    while number is not None:
        pairs = [(graph.values[number], graph.values[result]) for graph in captures]
        if any(value.version != shown.version for value, shown in pairs):
            return None
        if all(value.layout == shown.layout for value, shown in pairs):
            return number
        number = before.get(number)
    return None
