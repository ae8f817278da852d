"""Determinants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import finfo
from ...dispatch.forward import reduction
from ...dispatch.modes import differentiated
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing, first
from ...dispatch.structure import Last, Reduction, opaque
from ...tensor import Tensor
from ..creation.factories import arange
from ..creation.sequences import eye
from ..indexing.slicing import narrow
from ..pointwise.arithmetic import conjugate
from ..pointwise.where import _where
from ..reductions.any_all import anywhere
from ..reductions.cumulative import cumprod
from ..shaping.joining import _cat
from .factorizations import _linalg_lu_factor_ex
from .operands import adjoint, diagonal_of, matrices, times
from .solving import _linalg_inv_ex
from .svd import _linalg_svd


def _parity(pivots: Tensor) -> Tensor:
    """1 or -1: the determinant of the row exchanges that *pivots* tells."""
    exchanges = pivots != arange(1, pivots._array.shape[-1] + 1, device=pivots.device)
    return 1 - exchanges.sum(-1) % 2 * 2


@composite(dtype=first, structure=Reduction(Last(2)), method=False)
def _linalg_det(A: Tensor) -> Tensor:
    """The determinant, from the LU factorization."""
    LU, pivots, _ = _linalg_lu_factor_ex(A, True)
    return diagonal_of(LU).prod(-1) * _parity(pivots)


def _det_grad(g: Tensor, A: Tensor, out: Tensor) -> Tensor:
    return _det_backward(g, A, out)


gradient(_linalg_det, A=_det_grad)
reduction(_linalg_det)


@composite(structure=opaque, shape=lambda g, A, det: A, method=False)
def _det_backward(g: Tensor, A: Tensor, det: Tensor) -> Tensor:
    """g times the matrix of cofactors, conjugated: conj(det) A^-H where A is regular.

    Where it is not, or nearly, from the singular values: conj(det(U) det(Vh)) U D Vh, where D_ii is the product of all
    singular values but the i-th. If that is to be differentiated, from `_adjugate`, which can for any rank; the
    formula with singular values, for large matrices, only where these are not equal.
    """
    inverse: Tensor
    inverse, info = _linalg_inv_ex(adjoint(A))
    eps = finfo(A.dtype).eps
    # Both formulas are right for matrices in between; the first is faster, the second accurate for all.
    again = differentiated(A, g)
    small = A._array.shape[-1] <= _ADJUGATE_UNTIL
    worst = 0.01 / eps if again and not small else eps**-0.5
    condition = A.abs().sum(-2).amax(-1) * inverse.abs().sum(-2).amax(-1) if A.numel() else det.abs()
    singular = ((info != 0) | (condition >= worst)) & det.isfinite()
    if not anywhere(singular):
        return (g * conjugate(det)).unsqueeze(-1).unsqueeze(-1) * inverse
    if again and small:
        return g.unsqueeze(-1).unsqueeze(-1) * adjoint(_adjugate(A))
    U, S, Vh = _linalg_svd(A, True)
    phase = conjugate(_linalg_det(U) * _linalg_det(Vh))
    return times(U * (_others(S) * (g * phase).unsqueeze(-1)).unsqueeze(-2), Vh)


_ADJUGATE_UNTIL = 20


def _adjugate(A: Tensor) -> Tensor:
    """The transposed cofactors as a polynomial in A (Faddeev and LeVerrier): smooth for every rank, but inexact for
    large matrices, since its terms cancel.
    """
    n = A._array.shape[-1]
    unit = eye(n, dtype=A.dtype, device=A.device)
    adjugate = unit.expand(*A._array.shape)
    for k in range(1, n):
        product = times(A, adjugate)
        adjugate = product - (diagonal_of(product).sum(-1) / k).unsqueeze(-1).unsqueeze(-1) * unit
    return adjugate if n % 2 else -adjugate


def _others(values: Tensor) -> Tensor:
    """The product of all elements but the i-th along the last dimension, without division."""
    n = values._array.shape[-1]
    ones = values.new_ones((*values._array.shape[:-1], 1))
    before = _cat([ones, cumprod(narrow(values, -1, 0, n - 1), -1)], values.ndim - 1)
    after = _cat([ones, cumprod(narrow(values, -1, 1, n - 1).flip(-1), -1)], values.ndim - 1).flip(-1)
    return before * after


def _sign_and_log(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    return Typing((None,), (dtype, dtype.to_real()))


@composite(dtype=_sign_and_log, structure=Reduction(Last(2)), outputs=("sign", "logabsdet"), method=False)
def _linalg_slogdet(A: Tensor) -> Any:
    """The determinant as sign * exp(logabsdet), from the LU factorization."""
    LU, pivots, _ = _linalg_lu_factor_ex(A, True)
    U = diagonal_of(LU)
    return U.sgn().prod(-1) * _parity(pivots), U.abs().log().sum(-1)


def _slogdet_grad(g: list[Tensor | None], A: Tensor, sign: Tensor) -> Tensor:
    """(g_log - i Im(conj(g_sign) sign)) A^-H: the sign of a real determinant is constant."""
    g_sign, g_log = g
    weight = g_log
    if A.dtype.is_complex and g_sign is not None:
        turn = (conjugate(g_sign) * sign).imag * -1j
        weight = turn if weight is None else weight + turn
    if weight is None:
        return A * 0
    inverse: Tensor
    inverse, _ = _linalg_inv_ex(adjoint(A))
    return weight.unsqueeze(-1).unsqueeze(-1) * inverse


gradient(_linalg_slogdet, A=_slogdet_grad)


@function(namespace="linalg")
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant (*) of square matrices (*, n, n); 1 for n = 0.

    Its gradient is right for singular matrices too. Raises RuntimeError for matrices that are not square, integers,
    bool and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.det(polyad.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return _linalg_det(matrices("det", A, square=True))


@function(namespace="linalg")
def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The determinant of square matrices (*, n, n) as sign * exp(logabsdet), which does not overflow: a named tuple
    (sign, logabsdet).

    sign (*) has A's dtype and magnitude 1, logabsdet (*) is real; of a singular matrix they are 0 and -inf. Raises
    RuntimeError for matrices that are not square, integers, bool and 16-bit floats.

    >>> import polyad
    >>> sign, logabsdet = polyad.linalg.slogdet(polyad.eye(2) * 1e-30)
    >>> sign, logabsdet
    (tensor(1.), tensor(-138.1551))
    """
    return return_types.linalg_slogdet(*_linalg_slogdet(matrices("slogdet", A, square=True)))


@function()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant (*) of square matrices (*, n, n): -inf if it is 0, nan if it is negative,
    complex for complex matrices.

    Raises RuntimeError for matrices that are not square, integers, bool and 16-bit floats.

    >>> import polyad
    >>> polyad.logdet(polyad.eye(2) * 2.0)
    tensor(1.3863)
    """
    sign, logabsdet = _linalg_slogdet(matrices("logdet", input, "input", square=True))
    if input.dtype.is_complex:
        return sign.log() + logabsdet  # type: ignore[no-any-return]
    return _where(sign == -1.0, float("nan"), logabsdet)
