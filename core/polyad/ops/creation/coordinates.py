"""Coordinates of elements: of triangles, and of places in a flattened tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...backend import registry
from ...dispatch.op import function
from ...dtypes import INTEGER, DType, int32, int64
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from ...layout import contiguous_strides, normalize_shape
from ...memory_formats import check_layout
from ...tensor import Tensor, check_tensor
from ..shaping.joining import repeat_interleave, stack
from .factories import arange

if TYPE_CHECKING:
    from collections.abc import Sequence


def _triangle(
    op: str, row: int, col: int, offset: int, dtype: DType | None, device: Any, layout: Any, lower: bool
) -> Tensor:
    check_layout(layout, op)
    rows, columns, diagonal = normalize_shape((row, col, offset), op)
    if rows < 0 or columns < 0:
        raise ShapeError(f"{op}: row {rows} and col {columns} must be 0 or more", fix="give sizes of a matrix")
    if dtype not in (None, int32, int64):
        raise DTypeError(f"{op}: positions are int32 or int64, not {dtype!r}", fix="convert the result")
    where = registry.resolve_device(device)
    # In each row the columns from *first* on, *count* of them.
    edge = arange(rows, device=where) + (diagonal + 1 if lower else diagonal)
    count = edge.clamp(0, columns) if lower else columns - edge.clamp(0, columns)
    at_row = repeat_interleave(arange(rows, device=where), count)
    before = count.cumsum(0) - count if lower else count.cumsum(0) - columns
    at_column = arange(at_row.shape[0], device=where) - before.index_select(0, at_row)
    return stack([at_row, at_column]).to(dtype or int64)


@function(method=False)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None, layout: Any = None
) -> Tensor:
    """Rows and columns, (2, n), of the elements on and below a diagonal of a (row, col) matrix, row by row.

    Raises RuntimeError for negative sizes or another dtype than int32 and int64.

    >>> import polyad
    >>> polyad.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle("tril_indices", row, col, offset, dtype, device, layout, True)


@function(method=False)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None, layout: Any = None
) -> Tensor:
    """Rows and columns, (2, n), of the elements on and above a diagonal of a (row, col) matrix, row by row.

    Raises RuntimeError for negative sizes or another dtype than int32 and int64.

    >>> import polyad
    >>> polyad.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle("triu_indices", row, col, offset, dtype, device, layout, False)


@function(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """For places in a flattened tensor of *shape* a tensor of positions a dimension; places count modulo the size.

    Raises TypeError for indices that are no integers, ValueError for a negative size.

    >>> import polyad
    >>> polyad.unravel_index(polyad.tensor([5, 7]), (2, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
    dtype = check_tensor(indices, "unravel_index", "indices")._type.dtype
    if dtype.category != INTEGER:
        raise ArgumentTypeError(
            f"unravel_index: indices are {dtype.name}, not integers", operands={"indices": indices}, fix="use int64"
        )
    sizes = normalize_shape((shape,), "unravel_index")
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"unravel_index: a size in {sizes} is negative", fix="sizes are 0 or more")
    if 0 in sizes and indices.numel():
        raise ShapeError(
            f"unravel_index: a tensor of shape {sizes} has no places",
            operands={"indices": indices},
            fix="give the shape that the places are of",
        )
    steps = contiguous_strides(sizes)
    indices = indices.to(int64)
    return tuple([
        indices.floor_divide(step).remainder(max(size, 1)) for size, step in zip(sizes, steps, strict=True)
    ])  # fmt: skip
