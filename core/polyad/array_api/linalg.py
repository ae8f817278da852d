"""The extension for linear algebra: `polyad.linalg` with the standard's argument names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functions, linalg as _linalg
from ..base.dtypes import DType
from ..errors import ShapeError
from ..linalg import (
    det as det,
    eigh as eigh,
    eigvalsh as eigvalsh,
    inv as inv,
    matrix_power as matrix_power,
    qr as qr,
    slogdet as slogdet,
    svd as svd,
    svdvals as svdvals,
)
from ..tensor import Tensor
from .data_types import promoted


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix products."""
    return functions.matmul(*promoted(x1, x2))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The x of ``x1 @ x == x2``."""
    return _linalg.solve(*promoted(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged. Raises RuntimeError for fewer than two."""
    if x.ndim < 2:
        raise ShapeError(
            "matrix_transpose: a matrix has two dimensions or more", operands={"x": x}, fix="unsqueeze it first"
        )
    return functions.swapaxes(x, -1, -2)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The product summed over *axes*: that many last ones of *x1* and first ones of *x2*, or those named."""
    x1, x2 = promoted(x1, x2)
    return functions.tensordot(x1, x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The dot products along *axis*, *x1* conjugated. Raises RuntimeError where it has not one size in both."""
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(
            f"vecdot: dimension {axis} has size {x1.shape[axis]} in x1 and {x2.shape[axis]} in x2",
            operands={"x1": x1, "x2": x2},
            fix="give the vectors one length; only the other dimensions broadcast",
        )
    x1, x2 = promoted(x1, x2)
    if not x1.dtype.is_floating_point and not x1.dtype.is_complex:
        return functions.sum(x1 * x2, axis, dtype=x1.dtype)
    return _linalg.vecdot(x1, x2, dim=axis)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of a positive definite matrix."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of three-vectors along *axis*."""
    rank = max(x1.ndim, x2.ndim)
    x1, x2 = (x[(None,) * (rank - x.ndim)] for x in promoted(x1, x2))
    return _linalg.cross(x1, x2, dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    return _linalg.diagonal(x, offset=offset)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of matrices."""
    return _linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are larger than *rtol* times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of a vector with each of the other."""
    return functions.outer(*promoted(x1, x2))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverse."""
    return _linalg.pinv(x, rtol=rtol)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    return functions.sum(_linalg.diagonal(x, offset=offset), -1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """The norms of vectors along *axis*, or of all elements."""
    return _linalg.vector_norm(x, ord, axis, keepdims)
