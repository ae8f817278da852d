"""Singular values and what they tell: pseudo-inverse, rank, condition number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import finfo, int64
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing
from ...dispatch.structure import Last, Rowwise, opaque
from ...errors import ArgumentTypeError, NotSupported, safe_repr, wrong_type
from ...tensor import Tensor
from ..indexing.slicing import _select, narrow
from ..pointwise.maximum import maximum
from ..pointwise.where import _where
from ..shaping.diagonals import diag_embed
from .eigenvalues import _linalg_eigh, _linalg_eigvalsh, check_phase, gaps, off_diagonal
from .operands import (
    adjoint,
    adjoint_times,
    diagonal_of,
    is_flag,
    matrices,
    real,
    times,
    times_adjoint,
)

# --------------------------------------------------------------------------------------------------- SVD


def _svd_types(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    return Typing((None,), (dtype, dtype.to_real(), dtype))


def _svd_shape(A: Shape, full_matrices: bool) -> tuple[Shape, Shape, Shape]:
    rows, columns = A[-2:]
    k = min(rows, columns)
    batch = A[:-2]
    if full_matrices:
        return (*batch, rows, rows), (*batch, k), (*batch, columns, columns)
    return (*batch, rows, k), (*batch, k), (*batch, k, columns)


@primitive(dtype=_svd_types, structure=Rowwise(Last(2)), shape=_svd_shape, outputs=("U", "S", "Vh"), method=False)
def _linalg_svd(A: Tensor, full_matrices: bool) -> Any:
    """U diag(S) Vh = A with S falling. Raises LinAlgError where the algorithm does not converge."""


def _svd_grad(g: list[Tensor | None], U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)] V^H, and what leaves the singular spaces; E_ij is
    S_j^2 - S_i^2 (Townsend, "Differentiating the singular value decomposition", 2016). Over the complex numbers U and V
    have a common phase in each column, on which the function may not depend; what turns U against V adds a diagonal.
    """
    gU, gS, gVh = g
    rows, columns, k = U._array.shape[-2], Vh._array.shape[-1], S._array.shape[-1]
    # Vectors beyond the k-th are an arbitrary basis of what is left; PyTorch, too, gives them no gradient.
    if U._array.shape[-1] > k:
        U, gU = narrow(U, -1, 0, k), None if gU is None else narrow(gU, -1, 0, k)
    if Vh._array.shape[-2] > k:
        Vh, gVh = narrow(Vh, -2, 0, k), None if gVh is None else narrow(gVh, -2, 0, k)
    if gU is None and gVh is None:
        assert gS is not None
        return times(U * gS.unsqueeze(-2), Vh)
    of_U = None if gU is None else adjoint_times(U, gU)
    of_V = None if gVh is None else times_adjoint(Vh, gVh)
    divisors = gaps(S * S)
    inner = None if gS is None else diag_embed(gS)
    if of_U is not None:
        part = off_diagonal(of_U - adjoint(of_U)) / divisors * S.unsqueeze(-2)
        inner = part if inner is None else inner + part
    if of_V is not None:
        part = off_diagonal(of_V - adjoint(of_V)) / divisors * S.unsqueeze(-1)
        inner = part if inner is None else inner + part
    assert inner is not None
    if U.dtype.is_complex:
        inner = inner + diag_embed(_turn(of_U, of_V) / S * 1j)
    result = times(times(U, inner), Vh)
    if gU is not None and rows > k:
        outside = gU / S.unsqueeze(-2)
        result = result + times(outside - times(U, adjoint_times(U, outside)), Vh)
    if gVh is not None and columns > k:
        outside = gVh / S.unsqueeze(-1)
        result = result + times(U, outside - times(times_adjoint(outside, Vh), Vh))
    return result


def _turn(of_U: Tensor | None, of_V: Tensor | None) -> Tensor:
    """The derivative along a turn of the phases of U against those of V."""
    along_U = None if of_U is None else diagonal_of(of_U).imag
    along_V = None if of_V is None else diagonal_of(of_V).imag
    if along_U is None or along_V is None:
        product, along = (of_U, along_U) if of_V is None else (of_V, along_V)
        assert product is not None
        assert along is not None
        check_phase("svd", along, product)
        return along if of_V is None else -along
    assert of_U is not None
    assert of_V is not None
    check_phase("svd", along_U + along_V, of_U, of_V)
    return (along_U - along_V) * 0.5


gradient(_linalg_svd, A=_svd_grad)


@composite(dtype=real, structure=Rowwise(Last(2)), shape=lambda A: (*A[:-2], min(A[-2:])), method=False)
def _linalg_svdvals(A: Tensor) -> Tensor:
    """The singular values, falling."""
    _, S, _ = _linalg_svd(A, False)
    return S  # type: ignore[no-any-return]


def _check_driver(op: str, driver: Any) -> None:
    if driver is not None:
        raise NotSupported(
            f"{op}: driver is {safe_repr(driver)}: no device has a choice of drivers", fix="leave driver out"
        )


@function(namespace="linalg")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """The singular value decomposition A = U diag(S) Vh of matrices (*, m, n): a named tuple (U, S, Vh).

    S (*, k), k = min(m, n), is real and falls; U (*, m, m) and Vh (*, n, n) are orthogonal (unitary), or U (*, m, k)
    and Vh (*, k, n) without *full_matrices*. Vectors are defined up to a common factor of magnitude 1, on which nothing
    that is differentiated may depend; the gradient exists where no singular values are equal and, for U or Vh of
    a matrix that is not square, none is 0. Raises polyad.linalg.LinAlgError (a RuntimeError) if the algorithm does not
    converge, as for nan, RuntimeError for integers, bool and 16-bit floats, NotImplementedError for a *driver*.

    >>> import polyad
    >>> polyad.linalg.svd(polyad.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    matrices("svd", A)
    _check_driver("svd", driver)
    return return_types.linalg_svd(*_linalg_svd(A, is_flag("svd", "full_matrices", full_matrices)))


@function(namespace="linalg")
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values (*, min(m, n)) of matrices (*, m, n), falling; see `polyad.linalg.svd`.

    >>> import polyad
    >>> polyad.linalg.svdvals(polyad.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([2., 1.])
    """
    _check_driver("svdvals", driver)
    return _linalg_svdvals(matrices("svdvals", A))


# --------------------------------------------------------------------------------------------------- rank and inverse

Tolerance = Any
"""A number, a tensor that broadcasts with the batch, or None."""


def _cut(A: Tensor, magnitudes: Tensor, atol: Tolerance, rtol: Tolerance) -> Tensor:
    """What a singular value must exceed to count: max(atol, rtol * the largest), (*, 1)."""
    if rtol is None:
        given = isinstance(atol, Tensor) or (atol is not None and atol > 0)
        rtol = 0.0 if given else finfo(A.dtype).eps * max(A._array.shape[-2:])
        if isinstance(atol, Tensor):
            rtol = (atol <= 0).to(magnitudes.dtype) * (finfo(A.dtype).eps * max(A._array.shape[-2:]))
    if isinstance(rtol, Tensor):
        rtol = rtol.unsqueeze(-1)
    relative: Tensor = magnitudes.amax(-1, keepdim=True) * rtol
    if atol is None:
        return relative
    if isinstance(atol, Tensor):
        atol = atol.unsqueeze(-1)
    return maximum(relative, atol)


def _pinv_shape(A: Shape, atol: Any, rtol: Any, hermitian: bool) -> Shape:
    return (*A[:-2], A[-1], A[-2])


@composite(structure=opaque, shape=_pinv_shape, method=False)
def _linalg_pinv(A: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None, hermitian: bool) -> Tensor:
    """The pseudo-inverse; singular values that do not exceed max(atol, rtol * the largest) count as 0."""
    if not A.numel():
        return A.new_zeros(_pinv_shape(A._array.shape, None, None, hermitian))
    if hermitian:
        values, V = _linalg_eigh(A, False)
        magnitudes = values.abs()
        U = V
    else:
        U, values, Vh = _linalg_svd(A, False)
        magnitudes, V = values, adjoint(Vh)
    kept = magnitudes > _cut(A, magnitudes, atol, rtol)
    inverted = _where(kept, 1 / _where(kept, values, 1.0), 0.0)
    return times_adjoint(V * inverted.unsqueeze(-2), U)


def pinv_gradient(g: Tensor, out: Tensor, A: Tensor) -> Tensor:
    """-P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), for constant rank (Golub and Pereyra, "The
    differentiation of pseudo-inverses", 1973, eq. 4.12); *out* is P.
    """
    gh = adjoint(g)
    right = times(gh, times_adjoint(out, out))
    left = times(adjoint_times(out, out), gh)
    result = right - times(A, times(out, right)) + left - times(times(left, out), A)
    return result - adjoint_times(out, times_adjoint(g, out))


gradient(_linalg_pinv, A=lambda g, out, A: pinv_gradient(g, out, A))


def tolerance(op: str, name: str, value: Tolerance) -> Tolerance:
    """*value* if it is a real number, a real tensor or None, else TypeError."""
    if value is None or isinstance(value, Tensor):
        if value is not None and value.dtype.is_complex:
            raise ArgumentTypeError(f"{op}: {name} is complex", operands={name: value}, fix="pass real numbers")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(op, name, value, "a number or a tensor")
    return float(value)


@function(namespace="linalg", also={"input": "A"})
def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose pseudo-inverse (*, n, m) of matrices (*, m, n).

    Singular values that do not exceed max(atol, rtol * the largest) count as 0; by default atol is 0 and rtol
    max(m, n) * eps, or 0 if atol is given and positive. Both may be tensors with the batch's shape; *rcond* is an old
    name of rtol. With *hermitian* A is symmetric (Hermitian) and only its lower triangle is read. The gradient takes
    the rank for constant. Raises RuntimeError for matrices that are not square, with *hermitian*, for integers, bool
    and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.pinv(polyad.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    matrices("pinv", A, square=is_flag("pinv", "hermitian", hermitian))
    rtol = tolerance("pinv", "rtol", rcond if rtol is None else rtol)
    return _linalg_pinv(A, tolerance("pinv", "atol", atol), rtol, hermitian)


def _to_count(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,) * len(types), (int64,))


@composite(dtype=_to_count, structure=opaque, shape=lambda A, atol, rtol, hermitian: A[:-2], method=False)
def _linalg_matrix_rank(A: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None, hermitian: bool) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest)."""
    if not A.numel():
        return A.new_zeros(A._array.shape[:-2], dtype=int64)
    magnitudes = _linalg_eigvalsh(A, False).abs() if hermitian else _linalg_svdvals(A)
    return (magnitudes > _cut(A, magnitudes, atol, rtol)).sum(-1)


@function(namespace="linalg", also={"input": "A"})
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The rank (*), int64, of matrices (*, m, n): how many singular values exceed max(atol, rtol * the largest).

    By default atol is 0 and rtol max(m, n) * eps, or 0 if atol is given and positive. Both may be tensors with the
    batch's shape; *tol* is an old name of atol. With *hermitian* A is symmetric (Hermitian) and only its lower triangle
    is read. Raises RuntimeError for matrices that are not square, with *hermitian*, for integers, bool and 16-bit
    floats.

    >>> import polyad
    >>> polyad.linalg.matrix_rank(polyad.ones(3, 3))
    tensor(1)
    """
    matrices("matrix_rank", A, square=is_flag("matrix_rank", "hermitian", hermitian))
    if tol is not None and atol is None:
        atol, rtol = tol, 0.0 if rtol is None else rtol
    atol = tolerance("matrix_rank", "atol", atol)
    return _linalg_matrix_rank(A.detach(), atol, tolerance("matrix_rank", "rtol", rtol), hermitian)


@function(namespace="linalg", also={"input": "A"})
def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number (*) of matrices with respect to a norm: the largest singular value by the smallest for
    *p* None and 2, the other way round for -2, else the *p*-norm of A times that of its inverse.

    *p* is one of None, 2, -2, 1, -1, inf, -inf, "fro", "nuc" (see `polyad.linalg.matrix_norm`); all but the first three
    need square matrices (*, n, n) and give inf for a singular matrix. Raises RuntimeError for another p, integers, bool
    and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.cond(polyad.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    from .norms import check_order, matrix_norm
    from .solving import _linalg_inv_ex

    p = 2 if p is None else p
    by_values = isinstance(p, (int, float)) and p in (2, -2)
    matrices("cond", A, square=not by_values)
    check_order("cond", "p", p)
    if not A.numel():
        return A.new_zeros(A._array.shape[:-2], dtype=A.dtype.to_real())
    if by_values:
        S = _linalg_svdvals(A)
        largest, smallest = _select(S, S.ndim - 1, 0), _select(S, S.ndim - 1, S.shape[-1] - 1)
        return largest / smallest if p == 2 else smallest / largest
    inverse, info = _linalg_inv_ex(A)
    product = matrix_norm(A, p) * matrix_norm(inverse.masked_fill((info != 0).unsqueeze(-1).unsqueeze(-1), 0.0), p)
    return _where(info != 0, math.inf, product)
