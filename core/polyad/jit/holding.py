"""Whether a general graph holds: for captures of which it is made, for others, and by results."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from ..errors import BakedSize, ShapeError
from ..graph.expressions import evaluated
from ..graph.graph import Graph, Node
from ..graph.sizes import lie_alike, remembered, sizes_in_words
from ..graph.values import Scalar
from ..tensor import Tensor
from .unifying import same_items


def hold_against(graph: Graph, captured: Graph, sizes: Mapping[str, int]) -> None:
    """Raise if *graph* is not what was *captured* at *sizes*."""
    try:
        found = remembered(graph, sizes)
    except ShapeError as error:
        raise BakedSize(error.message, fix=error.fix, notes=error.lines) from error
    for value, other in zip(found.values, captured.values, strict=True):
        one, two = value.layout, other.layout
        if (one.shape, one.offset) != (two.shape, two.offset) or not lie_alike(one.shape, one.strides, two.strides):
            raise BakedSize(
                f"{graph.name}: for {sizes_in_words(sizes)} %{value.name} is {tuple(other.layout)}, "
                f"not {tuple(value.layout)} as for other sizes",
                fix="make it contiguous(), or leave the dimension fixed by which the function decides",
            )


def check_prediction(graph: Graph, captured: Graph, sizes: Mapping[str, int]) -> None:
    """Raise if *graph* has other calls, arguments or shapes than what was *captured* at *sizes*, of which it is not
    made.
    """
    pairs = zip_longest(graph.nodes, captured.nodes)
    differing = next((a or b for a, b in pairs if a is None or b is None or a.op.name != b.op.name), None)
    if differing is None:
        differing = _differing(graph, captured, _symbols_at(graph, captured, sizes))
    if differing is not None:
        raise BakedSize(
            f"{graph.name}: for {sizes_in_words(sizes)} {differing.name} is not called as for other sizes",
            notes={"line": differing.line} if differing.line else {},
            fix="let the range of the size begin above (min= of a Dim), or leave the dimension fixed",
        )


def _symbols_at(graph: Graph, captured: Graph, sizes: Mapping[str, int]) -> dict[str, Any]:
    """All symbols of *graph* as they are in another capture, which has the same calls."""
    read = {node.uses[0]: node.outputs.number for node in captured if isinstance(node.outputs, Scalar) and node.uses}
    known: dict[str, Any] = dict(sizes)
    for symbol in graph.symbols:
        if symbol.name not in known:
            element = symbol.dim < 0
            known[symbol.name] = read[symbol.value] if element else captured.values[symbol.value].shape[symbol.dim]
    return known


def _differing(graph: Graph, captured: Graph, known: Mapping[str, Any]) -> Node | None:
    """The first call of *graph* whose arguments or results are not those *captured*, by what is *known* of symbols."""
    for node, other in zip(graph.nodes, captured.nodes, strict=True):
        try:
            args = all(
                len(a.nodes) == len(b.nodes) and _differing(a, b, known) is None
                if isinstance(a, Graph)
                else same_items(evaluated(a, known), b, node)
                for a, b in zip(node.args, other.args, strict=True)
            )
            shapes = all(
                tuple(evaluated(graph.values[number].sizes, known)) == tuple(captured.values[number].shape)
                for number in node.makes
            )
        except (ArithmeticError, TypeError):
            return node
        if not (args and shapes and node.makes == other.makes):
            return node
    return None


def are_close(one: Tensor, other: Tensor) -> bool:
    """Whether two results of one computation are the same, but for roundings."""
    from ..testing import assert_close

    try:
        assert_close(one, other, equal_nan=True)
    except AssertionError:
        return False
    return True
