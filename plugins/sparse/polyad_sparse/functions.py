"""The functions of ``polyad.sparse``, with PyTorch's arguments; what they compute is in the modules beside this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyad import Tensor
from polyad.arguments import explain
from polyad.errors import wrong_type

from . import products, reductions
from .tensor import SparseTensor, written

__all__ = ["addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "sum"]


def _checked(op: str, name: str, value: Any) -> SparseTensor:
    if not isinstance(value, SparseTensor):
        raise wrong_type(op, name, value, "a sparse tensor")
    return value


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of two matrices: sparse if both are, else dense; of two dense matrices that of `polyad.mm`.

    Of a sparse and a dense matrix *reduce* may be "mean", "amax" or "amin": what is taken of the products in a row,
    0 where there are none.

    Raises RuntimeError for shapes that do not agree, NotImplementedError for another *reduce*.

    >>> import polyad
    >>> a = polyad.sparse_coo_tensor([[0, 0], [0, 1]], [2.0, 4.0], (2, 2))
    >>> polyad.sparse.mm(a, polyad.ones(2, 1)).tolist(), polyad.sparse.mm(a, polyad.ones(2, 1), "mean").tolist()
    ([[6.0], [0.0]], [[3.0], [0.0]])
    """
    product: Tensor = products.mm(mat1, mat2, reduce)
    return product


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * mat + alpha * mat1 @ mat2``, where *mat1* is sparse.

    >>> import polyad
    >>> polyad.sparse.addmm(polyad.ones(2, 1), polyad.eye(2).to_sparse(), polyad.ones(2, 1), beta=2.0)
    tensor([[3.],
            [3.]])
    """
    total: Tensor = products.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return total


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2`` at the places of the sparse matrix *input*: nothing else is computed.

    >>> import polyad
    >>> places = polyad.eye(2).to_sparse_csr()
    >>> polyad.sparse.sampled_addmm(places, polyad.ones(2, 3), polyad.ones(3, 2)).values()
    tensor([4., 4.])
    """
    found = products.sampled_addmm(_checked("sampled_addmm", "input", input), mat1, mat2, beta=beta, alpha=alpha)
    return found if out is None else written("sampled_addmm", out, found)


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over some dimensions: sparse as long as sparse dimensions are left.

    >>> import polyad
    >>> a = polyad.sparse_coo_tensor([[0, 0], [0, 1]], [2.0, 4.0], (2, 2))
    >>> polyad.sparse.sum(a), polyad.sparse.sum(a, 1).to_dense()
    (tensor(6.), tensor([6., 0.]))
    """
    total: Tensor = reductions.sum(_checked("sum", "input", input), dim, dtype=dtype)
    return total


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along *dim* of the specified elements: the others count as minus infinity, and stay zero.

    >>> import polyad
    >>> a = polyad.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], [1.0, 1.0, 5.0], (2, 2))
    >>> polyad.sparse.softmax(a, 1).to_dense()
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    return reductions.softmax(_checked("softmax", "input", input), dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax` at the specified elements; the others stay zero.

    >>> import polyad
    >>> a = polyad.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 5.0], (2, 2))
    >>> polyad.sparse.log_softmax(a, 1).values()
    tensor([0., 0.])
    """
    return reductions.log_softmax(_checked("log_softmax", "input", input), dim, dtype=dtype)


explain(globals())
