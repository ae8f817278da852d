"""Sparse tensors of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polyad
from polyad import Tensor
from polyad.arguments import explain
from polyad.errors import ArgumentError, DTypeError, NotSupported, ShapeError, safe_repr

from .patterns import BLOCKS, COMPRESSED, ROWS, Compressed, Coordinates, starts_of
from .tensor import SparseTensor, made, pack
from .validation import (
    check_compressed,
    check_compressed_values,
    check_coo,
    check_range,
    check_sparse_tensor_invariants,
)

__all__ = [
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
    "spdiags",
]


def _finished(result: SparseTensor, requires_grad: bool) -> Any:
    return result.requires_grad_() if requires_grad and not result.requires_grad else result


def _as_values(values: Any, dtype: Any, device: Any) -> Tensor:
    given = values if isinstance(values, Tensor) else polyad.tensor(values, dtype=dtype, device=device)
    return given.to(dtype=dtype, device=device) if dtype is not None or device is not None else given


def _as_indices(indices: Any, values: Tensor) -> Tensor:
    if isinstance(indices, Tensor):
        found = indices.detach().to(values.device)
        return found.long() if not found.numel() and found.is_floating_point() else found
    given = polyad.tensor(indices, device=values.device)
    return given if given.numel() else given.long()


def _checks(check_invariants: bool | None) -> tuple[bool, bool]:
    """Whether ranges are checked, and whether all is."""
    if check_invariants is None:
        return True, check_sparse_tensor_invariants.is_enabled()
    return check_invariants, check_invariants


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinates: *values* (nnz, *dense dims) at *indices* (sparse dims, nnz), zero elsewhere.

    Places may be repeated: then their values count as a sum, and `coalesce` adds them up. Without *size* the sparse
    dimensions are as small as the indices allow. ``sparse_coo_tensor(size)`` is a tensor of zeros.

    Args:
        indices, values: tensors or nested lists; values may have history. Indices are converted to int64.
        size: of the sparse and the dense dimensions.
        dtype, device: what values are converted to.
        pin_memory: makes no difference.
        requires_grad: whether backward computes a gradient for it, a sparse one.
        check_invariants: True checks all, also *is_coalesced*; False checks no values of indices; None, whether they
            are in range (see `check_sparse_tensor_invariants`).
        is_coalesced: says that the indices are in row-major order and none is repeated.

    Raises IndexError, which is a RuntimeError too, for an index out of range, RuntimeError for parts that do not go
    together.

    >>> import polyad
    >>> polyad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    tensor(indices=tensor([[0, 1, 1],
                           [2, 0, 2]]),
           values=tensor([3., 4., 5.]),
           size=(2, 3), nnz=3, layout=polyad.sparse_coo)
    """
    op = "sparse_coo_tensor"
    if values is None:
        size = indices if size is None else size
        indices = polyad.zeros(len(size), 0, dtype=polyad.int64, device=device)
        values = polyad.zeros(0, dtype=dtype, device=device)
        is_coalesced = True
    given = _as_values(values, dtype, device)
    if not isinstance(values, Tensor) and not given.dim():
        given = given.reshape(1)
    places = _as_indices(indices, given)
    if places.is_floating_point():  # as in PyTorch, which cuts fractions off
        places = places.long()
    shape = None if size is None else tuple(int(one) for one in size)
    check_coo(op, places, given, shape)
    places = places.long()
    in_range, everything = _checks(check_invariants)
    if shape is None:
        if not places.shape[1]:
            sparse = [0] * places.shape[0]
        else:
            sparse = [int(one) + 1 for one in places.amax(1).tolist()]
        shape = (*sparse, *given.shape[1:])
    if in_range:
        for number, (row, length) in enumerate(zip(places, shape)):
            check_range(op, "indices", row, length, number)
    few = places.shape[1] == 0 or (places.shape[1] == 1 and places.shape[0] > 0)
    pattern = Coordinates(places, shape, bool(is_coalesced) or few)
    if everything and is_coalesced and not _is_ordered(pattern):
        raise ArgumentError(
            f"{op}: the indices are not in order, or one is repeated",
            fix="leave is_coalesced out, and call coalesce()",
        )
    return _finished(pack(given, pattern), requires_grad)


def _is_ordered(pattern: Coordinates) -> bool:
    return pattern.nnz < 2 or bool((pattern.keys.diff() > 0).all().item())


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix in a compressed *layout*: `polyad.sparse_csr`, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.

    *compressed_indices* (rows + 1,) say where the elements of each row (of CSC and BSC: column) begin, *plain_indices*
    (nnz,) in which column each is. *values* are (nnz, *dense dims), of BSR and BSC (nnz, height, width, *dense dims).
    The other arguments are those of `sparse_coo_tensor`. Batches of matrices are refused.

    >>> import polyad
    >>> polyad.sparse_compressed_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3), layout=polyad.sparse_csr).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if layout is None:
        raise ArgumentError("sparse_compressed_tensor: layout is missing", fix="pass layout=polyad.sparse_csr")
    return _compressed(
        "sparse_compressed_tensor",
        layout,
        (compressed_indices, plain_indices, values),
        size,
        (dtype, device, requires_grad, check_invariants),
        ("compressed_indices", "plain_indices"),
    )


NAMES = {True: ("crow_indices", "col_indices"), False: ("ccol_indices", "row_indices")}
"""What the indices of a compressed tensor are called, by whether rows are in order."""


def _compressed(
    op: str,
    layout: Any,
    given: tuple[Any, Any, Any],
    size: Sequence[int] | None,
    options: tuple[Any, Any, bool, bool | None],
    names: tuple[str, str],
) -> Any:
    dtype, device, requires_grad, check_invariants = options
    values = _as_values(given[2], dtype, device)
    starts, others = _as_indices(given[0], values), _as_indices(given[1], values)
    if starts.dim() > 1:
        raise NotSupported(
            f"{op}: batches of compressed matrices are not supported",
            operands={names[0]: starts},
            fix="make a matrix of each, or one COO tensor of all: sparse_coo_tensor",
        )
    shape = None if size is None else tuple(int(one) for one in size)
    check_compressed(op, layout, names, (starts, others, values), shape)
    block = (int(values.shape[1]), int(values.shape[2])) if layout in BLOCKS else (1, 1)
    along = 0 if layout in ROWS else 1
    if shape is None:
        most = int(others.max().item()) + 1 if others.shape[0] else 0
        counts = (starts.shape[0] - 1, most) if along == 0 else (most, starts.shape[0] - 1)
        dense = values.shape[3:] if layout in BLOCKS else values.shape[1:]
        shape = (counts[0] * block[0], counts[1] * block[1], *dense)
    in_range, everything = _checks(check_invariants)
    if in_range:
        across = shape[1 - along] // max(block[1 - along], 1)
        check_compressed_values(op, names, starts, others, across, everything)
    return _finished(pack(values, Compressed(layout, starts, others, shape, block)), requires_grad)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix in compressed rows; see `sparse_compressed_tensor`.

    >>> import polyad
    >>> polyad.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3))
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([2, 0]),
           values=tensor([3., 4.]), size=(2, 3), nnz=2, layout=polyad.sparse_csr)
    """
    options = dtype, device, requires_grad, check_invariants
    parts = crow_indices, col_indices, values
    return _compressed("sparse_csr_tensor", polyad.sparse_csr, parts, size, options, NAMES[True])


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix in compressed columns; see `sparse_compressed_tensor`.

    >>> import polyad
    >>> polyad.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4.0, 3.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    options = dtype, device, requires_grad, check_invariants
    parts = ccol_indices, row_indices, values
    return _compressed("sparse_csc_tensor", polyad.sparse_csc, parts, size, options, NAMES[False])


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of blocks, in compressed rows of blocks; see `sparse_compressed_tensor`.

    >>> import polyad
    >>> polyad.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 1., 2.]])
    """
    options = dtype, device, requires_grad, check_invariants
    parts = crow_indices, col_indices, values
    return _compressed("sparse_bsr_tensor", polyad.sparse_bsr, parts, size, options, NAMES[True])


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of blocks, in compressed columns of blocks; see `sparse_compressed_tensor`.

    >>> import polyad
    >>> polyad.sparse_bsc_tensor([0, 0, 1], [0], [[[1.0, 2.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 1., 2.]])
    """
    options = dtype, device, requires_grad, check_invariants
    parts = ccol_indices, row_indices, values
    return _compressed("sparse_bsc_tensor", polyad.sparse_bsc, parts, size, options, NAMES[False])


def zeros(op: str, layout: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> SparseTensor:
    """A tensor of *shape* without specified elements; *op* is who asks for it."""
    held = polyad.zeros(0, dtype=dtype, device=device)
    if layout is polyad.sparse_coo:
        return made(held, Coordinates(polyad.zeros(len(shape), 0, dtype=polyad.int64, device=device), shape, True))
    if layout not in COMPRESSED or layout in BLOCKS or len(shape) != 2:
        raise NotSupported(
            f"{op}: layout {safe_repr(layout)} for the shape {shape}",
            fix="use polyad.sparse_coo, or for a matrix polyad.sparse_csr or polyad.sparse_csc",
        )
    starts = polyad.zeros(shape[layout not in ROWS] + 1, dtype=polyad.int64, device=device)
    return made(held, Compressed(layout, starts, starts[:0], shape))


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """The sparse matrix of *shape* whose diagonals *offsets* (n,) hold *diagonals* (n, columns): column j of a row of
    *diagonals* is in column j of the matrix.

    Raises RuntimeError for offsets that are repeated, no integers, or not one for each diagonal.

    >>> import polyad
    >>> polyad.sparse.spdiags(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), polyad.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    rows_of = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    shifts = offsets.reshape(-1)
    operands = {"diagonals": diagonals, "offsets": offsets}
    if offsets.dtype is not polyad.int64:
        raise DTypeError("spdiags: offsets must be int64", operands=operands, fix="convert them: offsets.long()")
    if len(shape) != 2 or rows_of.dim() != 2 or shifts.shape[0] != rows_of.shape[0]:
        raise ShapeError(
            "spdiags: it takes diagonals (n, length), offsets (n,) and two sizes", operands=operands, fix="reshape them"
        )
    if polyad.unique(shifts).shape[0] != shifts.shape[0]:
        raise ArgumentError("spdiags: an offset is repeated", operands=operands, fix="give each diagonal once")
    columns = polyad.arange(rows_of.shape[1], device=diagonals.device).expand(rows_of.shape[0], -1)
    rows = columns - shifts.unsqueeze(1)
    inside = ((rows >= 0) & (rows < shape[0]) & (columns < shape[1])).nonzero().unbind(1)
    pattern = Coordinates(polyad.stack([rows[inside], columns[inside]]), tuple(shape), False)
    found: Any = pack(rows_of[inside], pattern)
    return found if layout is None else found.to_sparse(layout=layout)


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """(size + 1,): where each of *size* rows begins among the row numbers *input*, which are in order."""
    return starts_of(input, size, polyad.int32 if out_int32 else polyad.int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """(2, nnz): the row and the column of each element of a CSR matrix; with *transpose* the column first."""
    rows = polyad.repeat_interleave(
        polyad.arange(crow_indices.shape[0] - 1, device=crow_indices.device), crow_indices.diff().long()
    )
    pair = [col_indices.long(), rows] if transpose else [rows, col_indices.long()]
    return polyad.stack(pair).to(polyad.int32 if out_int32 else polyad.int64)


explain(globals())
