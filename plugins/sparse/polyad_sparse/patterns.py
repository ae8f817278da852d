"""Where the specified elements of a sparse tensor are. A pattern has no values and is never changed: tensors share it.

    Coordinates   indices (sparse dims, nnz): one column for each specified element, in any order, perhaps repeated
    Compressed    rows (CSR, BSR) or columns (CSC, BSC) in order: where each begins, and the other index of each
                  element; the elements of BSR and BSC are blocks

Dimensions behind the sparse ones are dense: there a value is a tensor.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import NotSupported, ShapeError

ROWS = (polyad.sparse_csr, polyad.sparse_bsr)
"""The compressed layouts whose rows are in order."""
BLOCKS = (polyad.sparse_bsr, polyad.sparse_bsc)
"""The compressed layouts whose elements are blocks."""
COMPRESSED = (polyad.sparse_csr, polyad.sparse_csc, polyad.sparse_bsr, polyad.sparse_bsc)


class Coordinates:
    """The places *indices* (sparse dims, nnz) in a tensor of *shape*; *coalesced* says that they are in row-major order
    and none is there twice.
    """

    layout = polyad.sparse_coo

    def __init__(self, indices: Tensor, shape: tuple[int, ...], coalesced: bool) -> None:
        self.indices, self.shape, self.coalesced = indices, tuple(shape), coalesced

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions, which come first."""
        return int(self.indices.shape[0])

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse dimensions."""
        return self.shape[: self.sparse_dim]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The sizes of the dense dimensions."""
        return self.shape[self.sparse_dim :]

    @property
    def nnz(self) -> int:
        """The number of specified elements, repeated ones counted each time."""
        return int(self.indices.shape[1])

    @property
    def keys(self) -> Tensor:
        """(nnz,): the number that each place has when all are counted in row-major order."""
        return keys_of(self.indices, self.sparse_shape)

    def moved(self, device: Any) -> Coordinates:
        """The pattern on another device."""
        indices = self.indices.to(device)
        return self if indices is self.indices else Coordinates(indices, self.shape, self.coalesced)

    def parts(self) -> tuple[Tensor, ...]:
        """The tensors that it is made of."""
        return (self.indices,)


class Compressed:
    """Rows or columns in order: *starts* (rows + 1,) says where each begins among *others* (nnz,), the places across.

    Of the layouts in `BLOCKS` these count blocks of size *block*. The last dimensions of *shape*, behind the first two,
    are dense.
    """

    coalesced = True
    sparse_dim = 2

    def __init__(
        self, layout: Any, starts: Tensor, others: Tensor, shape: tuple[int, ...], block: tuple[int, int] = (1, 1)
    ) -> None:
        self.layout, self.starts, self.others, self.shape, self.block = layout, starts, others, tuple(shape), block

    @property
    def by_rows(self) -> bool:
        """Whether rows are in order."""
        return self.layout in ROWS

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The sizes of the dense dimensions."""
        return self.shape[2:]

    @property
    def nnz(self) -> int:
        """The number of specified elements, or blocks."""
        return int(self.others.shape[0])

    @cached_property
    def coordinates(self) -> Coordinates:
        """The same places; CSR's are coalesced, CSC's are in the order of columns."""
        counts = self.starts.diff()
        across = self.others.long()
        along = polyad.repeat_interleave(polyad.arange(counts.shape[0], device=counts.device), counts.long())
        rows, columns = (along, across) if self.by_rows else (across, along)
        if self.layout in BLOCKS:
            height, width = self.block
            inside = polyad.arange(height * width, device=rows.device)
            rows = (rows.unsqueeze(1) * height + inside // width).reshape(-1)
            columns = (columns.unsqueeze(1) * width + inside % width).reshape(-1)
        return Coordinates(polyad.stack([rows, columns]), self.shape, self.layout is polyad.sparse_csr)

    def moved(self, device: Any) -> Compressed:
        """The pattern on another device."""
        starts, others = self.starts.to(device), self.others.to(device)
        if starts is self.starts and others is self.others:
            return self
        return Compressed(self.layout, starts, others, self.shape, self.block)

    def parts(self) -> tuple[Tensor, ...]:
        """The tensors that it is made of."""
        return self.starts, self.others


Pattern = Coordinates | Compressed


def keys_of(indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """(nnz,): the row-major number of each column of *indices* (dims, nnz) in *shape*."""
    if math.prod(shape) >= 2**63:
        raise NotSupported(
            f"sparse: the sparse dimensions {tuple(shape)} have more than 2**63 places, which are not counted",
            fix="give a smaller size",
        )
    keys = polyad.zeros(indices.shape[1], dtype=polyad.int64, device=indices.device)
    for row, size in zip(indices, shape, strict=True):
        keys = keys * size + row
    return keys


def places_of(keys: Tensor, shape: tuple[int, ...]) -> Tensor:
    """(dims, nnz): the inverse of `keys_of`."""
    if not shape:
        return polyad.zeros(0, keys.shape[0], dtype=polyad.int64, device=keys.device)
    rows = []
    for size in reversed(shape):
        rows.append(keys % max(size, 1))
        keys = keys // max(size, 1)
    return polyad.stack(rows[::-1])


def starts_of(rows: Tensor, count: int, dtype: Any = polyad.int64) -> Tensor:
    """(count + 1,): where each of *count* rows begins among *rows* (nnz,), which are in order."""
    counts = polyad.bincount(rows, minlength=count) if rows.shape[0] else rows.new_zeros(count)
    return polyad.cat([counts.new_zeros(1), counts.cumsum(0)]).to(dtype)


def check_same_shape(op: str, one: Any, other: Any) -> None:
    """Raise ShapeError unless the two tensors have one shape."""
    if tuple(one.shape) != tuple(other.shape):
        raise ShapeError(
            f"{op}: the shapes {tuple(one.shape)} and {tuple(other.shape)} are not the same",
            operands={"input": one, "other": other},
            fix="sparse tensors do not broadcast to each other; give both one shape",
        )
