"""Triangles of matrices: all but a triangle set to zero (`tril`, `triu`), and where a triangle's elements are."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import DType, int32, int64
from ...base.memory_formats import check_layout
from ...base.shapes_and_strides import Shape, normalize_shape
from ...devices import registry
from ...dispatch.forward import linear_in
from ...dispatch.op import function, gradient, primitive
from ...dispatch.structure import Last, Shaping
from ...errors import DTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import arange, empty, with_options
from .joining import stack
from .repeating import repeated


def _of_matrices(shape: Shape, diagonal: int) -> Shape:
    if len(shape) < 2:
        raise ShapeError("tril, triu: input needs two dimensions", fix="unsqueeze it")
    return shape


@primitive(structure=Shaping(Last(2)), shape=_of_matrices, method=False)
def _tril(input: Tensor, diagonal: int) -> Tensor:
    """The lower triangle of the last two dimensions, zeros above *diagonal*."""


gradient(_tril, input=lambda g, diagonal: _tril(g, diagonal))
linear_in(_tril, "input")


@primitive(structure=Shaping(Last(2)), shape=_of_matrices, method=False)
def _triu(input: Tensor, diagonal: int) -> Tensor:
    """The upper triangle of the last two dimensions, zeros below *diagonal*."""


gradient(_triu, input=lambda g, diagonal: _triu(g, diagonal))
linear_in(_triu, "input")


def _check_matrices(input: Tensor, diagonal: int, op: str) -> int:
    if check_tensor(input, op, "input").ndim < 2:
        raise ShapeError(f"{op}: input needs two dimensions or more", operands={"input": input}, fix="unsqueeze it")
    return normalize_shape((diagonal,), op)[0]


@function(inplace=True)
def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of the matrices in the last two dimensions; elements above *diagonal* are zero.

    Raises RuntimeError for fewer than two dimensions.

    >>> import polyad
    >>> polyad.tril(polyad.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _tril(input, _check_matrices(input, diagonal, "tril"))


@function(inplace=True)
def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of the matrices in the last two dimensions; elements below *diagonal* are zero.

    Raises RuntimeError for fewer than two dimensions.

    >>> import polyad
    >>> polyad.triu(polyad.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return _triu(input, _check_matrices(input, diagonal, "triu"))


def _indices(
    op: str, row: int, col: int, offset: int, dtype: DType | None, device: Any, layout: Any, lower: bool
) -> Tensor:
    check_layout(layout, op)
    rows, columns, diagonal = normalize_shape((row, col, offset), op)
    if rows < 0 or columns < 0:
        raise ShapeError(f"{op}: row {rows} and col {columns} must be 0 or more", fix="give sizes of a matrix")
    if dtype not in (None, int32, int64):
        raise DTypeError(f"{op}: positions are int32 or int64, not {safe_repr(dtype)}", fix="convert the result")
    where = registry.resolve_device(device)
    first = diagonal + 1 if lower else diagonal
    below = _sum_from(first, rows) - _sum_from(first - columns, rows)
    total = below if lower else rows * columns - below
    found = empty((2, total), dtype=dtype or int64, device=where)  # first: it refuses what memory cannot hold
    # In each row the columns from *first* on, *count* of them.
    edge = arange(rows, device=where) + first
    count = edge.clamp(0, columns) if lower else columns - edge.clamp(0, columns)
    at_row = repeated(arange(rows, device=where), count, total, 0)
    before = count.cumsum(0) - count if lower else count.cumsum(0) - columns
    at_column = arange(at_row.shape[0], device=where) - before.index_select(0, at_row)
    return stack([at_row, at_column], out=found)


def _sum_from(first: int, count: int) -> int:
    """The sum of those of *count* numbers from *first* on that are positive."""
    last, least = first + count - 1, max(first, 1)
    return (least + last) * (last - least + 1) // 2 if last >= least else 0


@function(method=False)
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """Rows and columns, (2, n), of the elements on and below a diagonal of a (row, col) matrix, row by row.

    Raises RuntimeError for negative sizes or another dtype than int32 and int64.

    >>> import polyad
    >>> polyad.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return with_options(_indices("tril_indices", row, col, offset, dtype, device, layout, True), False, pin_memory)


@function(method=False)
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """Rows and columns, (2, n), of the elements on and above a diagonal of a (row, col) matrix, row by row.

    Raises RuntimeError for negative sizes or another dtype than int32 and int64.

    >>> import polyad
    >>> polyad.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return with_options(_indices("triu_indices", row, col, offset, dtype, device, layout, False), False, pin_memory)
