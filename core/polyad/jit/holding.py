"""Whether a general graph holds: for captures of which it is made, for others, and by results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BakedSize, ShapeError
from ..graph.expressions import evaluated
from ..graph.graph import Graph
from ..graph.sizes import lie_alike, remembered, sizes_in_words
from ..graph.values import Scalar
from ..tensor import Tensor
from .calls import called_ops
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
    numbers = {node.uses[0]: node.outputs.number for node in captured if isinstance(node.outputs, Scalar) and node.uses}
    known: dict[str, Any] = dict(sizes)
    differs = called_ops(graph) != called_ops(captured) or len(graph.values) != len(captured.values)
    for symbol in () if differs else graph.symbols:
        if symbol.name not in known:
            read = numbers.get(symbol.value) if symbol.dim < 0 else captured.values[symbol.value].shape[symbol.dim]
            known[symbol.name] = read
    try:
        differs = differs or not _gives(graph, captured, known)
    except (ArithmeticError, TypeError, IndexError):
        differs = True
    if differs:
        raise BakedSize(
            f"{graph.name}: for {sizes_in_words(sizes)} it does something else than for other sizes",
            fix="let the range of the size begin above (min= of a Dim), or leave the dimension fixed",
        )


def _gives(graph: Graph, captured: Graph, known: Mapping[str, Any]) -> bool:
    """Whether the arguments and shapes of *graph* are those *captured*, for all that is *known* of its symbols."""
    shapes = all(
        tuple(evaluated(one.sizes, known)) == tuple(other.shape)
        for one, other in zip(graph.values, captured.values, strict=True)
    )
    return shapes and all(
        all(
            _gives(a, b, known) if isinstance(a, Graph) else same_items(evaluated(a, known), b, node)
            for a, b in zip(node.args, other.args, strict=True)
        )
        for node, other in zip(graph.nodes, captured.nodes, strict=True)
    )


def are_close(one: Tensor, other: Tensor) -> bool:
    """Whether two results of one computation are the same, but for roundings."""
    from ..testing import assert_close

    try:
        assert_close(one, other, equal_nan=True)
    except AssertionError:
        return False
    return True
