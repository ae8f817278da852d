"""Order."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates

SORTED = (torch.float32, torch.float64, torch.int64, torch.int32)
"""What runtimes sort; other dtypes are converted."""


def largest(to: Any, input: Any, count: Any, dim: int, descending: bool) -> tuple[Any, Any]:
    """The first elements in order, and their places."""
    dtype = to.result.dtype
    held = dtype if dtype in SORTED else torch.float32 if dtype.is_floating_point else torch.int32
    values, places = to.op(
        "TopK", to.cast(input, held), to.sizes([count]), count=2, axis=dim, largest=int(descending), sorted=1
    )
    places.type = to.ir.TensorType(to.ir.DataType.INT64)
    return to.cast(values, dtype), places


@translates("sort", when=lambda input, dim, descending: bool(input.shape))
def sort(to: Any, input: Any, dim: int, descending: bool) -> tuple[Any, Any]:
    """All elements in order, and their places."""
    return largest(to, input, to.sizes_of(to.node.args[0])[dim], dim, descending)


@translates("sorted", when=lambda input, dim, descending: bool(input.shape))
def in_order(to: Any, input: Any, dim: int, descending: bool) -> Any:
    """All elements in order."""
    return largest(to, input, to.sizes_of(to.node.args[0])[dim], dim, descending)[0]


@translates("topk", when=lambda input, k, dim, largest: bool(input.shape))
def topk(to: Any, input: Any, k: Any, dim: int, largest_first: bool) -> tuple[Any, Any]:
    """The first few elements in order, and their places."""
    return largest(to, input, k, dim, largest_first)


@translates("searchsorted")
def searchsorted(to: Any, sequence: Any, values: Any, right: bool) -> Any:
    """How many elements of an ordered sequence are before a value."""
    row = to.op("Unsqueeze", sequence, to.ints(-2)) if len(sequence.shape) > 1 else sequence
    column = to.op("Unsqueeze", values, to.ints(-1))
    before = to.op("LessOrEqual" if right else "Less", row, column)
    return to.op("ReduceSum", to.cast(before, torch.int64), to.ints(-1), keepdims=0)
