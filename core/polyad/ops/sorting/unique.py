"""Distinct elements, or slices: of the whole tensor, or of neighbours.

How many there are only the data can tell, so these wait for it. Results have no gradient; nan differs from itself.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import bool_, int64
from ...base.shapes_and_strides import Shape, normalize_dim
from ...dispatch.op import composite, function
from ...dispatch.promotion import first, not_complex, to_int64
from ...dispatch.structure import opaque
from ...errors import IndexOutOfRange, ShapeError, UnsupportedDType
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _arange, _full
from ..indexing.gather_scatter import _scatter
from ..indexing.index_select import _index_select
from ..indexing.nonzero import _nonzero
from ..indexing.slicing import _slice
from ..reductions.cumulative import _cumsum
from ..shaping.joining import _cat
from .sort import _sort, _sorted


def _one_each(shape: Shape) -> Shape:
    return shape[:1]


def _some(shape: Shape) -> Shape:
    return (-1,)  # how many there are, only the data can tell


@composite(dtype=not_complex("unique", first), structure=opaque, shape=_some, method=False)
def _distinct(input: Tensor) -> Tensor:
    """The distinct elements of a vector in rising order; each nan is distinct."""
    values = _sorted(input, 0, False)
    return _index_select(values, _nonzero(_starts(values)).reshape(-1), 0)


@composite(dtype=not_complex("unique", to_int64), structure=opaque, shape=_one_each, method=False)
def _lexsort(input: Tensor) -> Tensor:
    """The order of the rows of a matrix: by the first column, then by the next where that is equal; stable."""
    rows, columns = input._array.shape
    order = _arange(0, 1, rows, int64, input._type.device)
    for column in range(columns - 1, -1, -1):
        # Stable sorts from the last column to the first leave the rows in order of all of them.
        by_column = _index_select(_slice(input, 1, column, 1, 1).reshape(-1), order, 0)
        order = _index_select(order, _sort(by_column, 0, False)[1], 0)
    return order


def _starts(rows: Tensor) -> Tensor:
    """Which rows (elements of a vector) differ from the row before."""
    size = rows._array.shape[0]
    new = _full((min(size, 1),), True, bool_, rows._type.device)
    if size < 2:
        return new
    differs = _slice(rows, 0, 1, size - 1, 1) != _slice(rows, 0, 0, size - 1, 1)
    return _cat([new, differs if differs.ndim == 1 else differs.any(1)], 0)


def _summary(
    rows: Tensor, order: Tensor | None, return_inverse: bool, return_counts: bool
) -> tuple[Tensor, list[Tensor]]:
    """The first row of each run of equal *rows*; and which run each row is in (by its place before it was put in
    *order*) and how long the runs are, as far as asked for.
    """
    size, device = rows._array.shape[0], rows._type.device
    new = _starts(rows)
    firsts = _nonzero(new).reshape(-1)
    extras = []
    if return_inverse:
        run = _cumsum(new, 0) - 1
        extras.append(run if order is None else _scatter(_full((size,), 0, int64, device), order, run, 0))
    if return_counts:
        ends = _cat([firsts, _full((1,), size, int64, device)], 0)
        count = firsts._array.shape[0]
        extras.append(_slice(ends, 0, 1, count, 1) - _slice(ends, 0, 0, count, 1))
    return firsts, extras


def _slices(op: str, input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """*input* with *dim* first, and that with the rest flattened: a matrix."""
    at = normalize_dim(dim, input.ndim, op)
    if not input.ndim:
        raise IndexOutOfRange(f"{op}: a 0-d tensor has no dimension", operands={"input": input}, fix="leave dim out")
    shape = input._array.shape
    if 0 in (*shape[:at], *shape[at + 1 :]):
        raise ShapeError(
            f"{op}: the slices of dimension {at} have no elements",
            operands={"input": input},
            fix="choose the dimension that is empty, or none",
        )
    moved = input.movedim(at, 0)
    width = 1
    for size in moved._array.shape[1:]:
        width *= size
    return moved, moved.reshape(shape[at], width)


def _with_extras(first: Tensor, extras: list[Tensor]) -> Any:
    return (first, *extras) if extras else first


@function()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in rising order, or the distinct slices of *dim*; on demand also which of them each element
    (or slice) is, and how often each occurs.

    Always sorted, slices by their first element, then the next. nan differs from itself. The result has no gradient.
    Raises RuntimeError for complex tensors and for slices without elements, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.unique(polyad.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    >>> polyad.unique(polyad.tensor([[2, 1], [0, 3], [2, 1]]), dim=0)
    tensor([[0, 3],
            [2, 1]])
    """
    input = check_tensor(input, "unique", "input").detach()
    if input._type.dtype.is_complex:
        raise UnsupportedDType("unique: complex numbers have no order", operands={"input": input}, fix="use its parts")
    if dim is None:
        flat = input.reshape(-1)
        if not return_inverse and not return_counts:
            return _distinct(flat)
        values, order = _sort(flat, 0, False) if return_inverse else (_sorted(flat, 0, False), None)
        firsts, extras = _summary(values, order, return_inverse, return_counts)
        if return_inverse:
            extras[0] = extras[0].reshape(input.shape)
        return _with_extras(_index_select(values, firsts, 0), extras)
    moved, rows = _slices("unique", input, dim)
    order = _lexsort(rows)
    firsts, extras = _summary(_index_select(rows, order, 0), order, return_inverse, return_counts)
    return _with_extras(_index_select(moved, _index_select(order, firsts, 0), 0).movedim(0, dim), extras)


@function()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices of *dim*) without those that equal their predecessor; on demand also which of them each
    element is, and how many it stands for.

    nan differs from itself. The result has no gradient. Raises RuntimeError for slices without elements, IndexError for
    a dim out of range.

    >>> import polyad
    >>> polyad.unique_consecutive(polyad.tensor([1, 1, 2, 1]), return_counts=True)
    (tensor([1, 2, 1]), tensor([2, 1, 1]))
    """
    input = check_tensor(input, "unique_consecutive", "input").detach()
    if dim is None:
        flat = input.reshape(-1)
        firsts, extras = _summary(flat, None, return_inverse, return_counts)
        if return_inverse:
            extras[0] = extras[0].reshape(input.shape)
        return _with_extras(_index_select(flat, firsts, 0), extras)
    moved, rows = _slices("unique_consecutive", input, dim)
    firsts, extras = _summary(rows, None, return_inverse, return_counts)
    return _with_extras(_index_select(moved, firsts, 0).movedim(0, dim), extras)
