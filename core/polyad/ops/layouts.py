"""Layouts of a dense tensor: what it answers where code asks for a sparse one, and how it becomes one.

Sparse tensors are no part of core: `polyad.sparse` is a package of its own, which is loaded by the first of them.
"""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

from ..base.dtypes import DType
from ..base.memory_formats import MemoryLayout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ..dispatch.op import method
from ..errors import SettingError
from ..tensor import Tensor
from ..tensor.tensor import check_tensor


class NotSparse(SettingError):
    """A part of a sparse tensor, asked of one that is dense."""


@method()
def dense_dim(self: Tensor) -> int:
    """The number of dimensions that are not sparse: all."""
    return check_tensor(self, "dense_dim", "self").ndim


@method()
def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions: 0."""
    check_tensor(self, "sparse_dim", "self")
    return 0


@method()
def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements; a dense one is that itself, or in another dtype.

    >>> import polyad
    >>> x = polyad.ones(2)
    >>> x.to_dense() is x
    True
    """
    return check_tensor(self, "to_dense", "self").to(dtype=dtype)


def _conversion(name: str) -> Any:
    return getattr(importlib.import_module("polyad.sparse.conversion"), name)


@method()
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: MemoryLayout | None = None,
    blocksize: tuple[int, int] | None = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The elements that are not zero, as a sparse tensor in coordinates, or in another *layout*; with a gradient.

    *sparse_dim* is how many dimensions are sparse: all unless it is given. Behind them are dense ones.

    >>> import polyad
    >>> polyad.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [1, 0]]),
           values=tensor([2., 3.]),
           size=(2, 2), nnz=2, layout=polyad.sparse_coo)
    """
    found: Tensor = _conversion("to_sparse")(
        check_tensor(self, "to_sparse", "self"), sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim
    )
    return found


@method()
def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in coordinates; see `Tensor.to_sparse`."""
    return to_sparse(self)


@method()
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix in compressed rows; the last *dense_dim* dimensions are dense.

    >>> import polyad
    >>> polyad.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([1, 0]),
           values=tensor([2., 3.]), size=(2, 2), nnz=2, layout=polyad.sparse_csr)
    """
    return to_sparse(self, layout=sparse_csr, dense_dim=dense_dim)


@method()
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix in compressed columns; see `Tensor.to_sparse_csr`."""
    return to_sparse(self, layout=sparse_csc, dense_dim=dense_dim)


@method()
def to_sparse_bsr(self: Tensor, blocksize: tuple[int, int], dense_dim: int | None = None) -> Tensor:
    """The matrix as blocks of *blocksize* in compressed rows; see `Tensor.to_sparse_csr`."""
    return to_sparse(self, layout=sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


@method()
def to_sparse_bsc(self: Tensor, blocksize: tuple[int, int], dense_dim: int | None = None) -> Tensor:
    """The matrix as blocks of *blocksize* in compressed columns; see `Tensor.to_sparse_csr`."""
    return to_sparse(self, layout=sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


@method()
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places where the sparse tensor *mask* has elements, as a sparse tensor of its pattern.

    >>> import polyad
    >>> mask = polyad.eye(2).to_sparse_csr()
    >>> polyad.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(mask).values()
    tensor([1., 4.])
    """
    found: Tensor = _conversion("sparse_mask")(check_tensor(self, "sparse_mask", "self"), mask)
    return found


def _refuse_part(name: str) -> None:
    def refused(self: Tensor) -> NoReturn:
        raise NotSparse(
            f"{name}: expected a sparse tensor, not one with layout strided",
            operands={"self": self},
            fix="convert it: tensor.to_sparse()",
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Of a sparse tensor: see `polyad.sparse`. Of a dense one it raises RuntimeError."
    method()(refused)


for _name in (
    "ccol_indices",
    "coalesce",
    "col_indices",
    "crow_indices",
    "indices",
    "is_coalesced",
    "row_indices",
    "values",
):
    _refuse_part(_name)
