"""Linear systems: triangular, factored, general, and least squares; inverses and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.errors import LinAlgError

from ...quiet import quiet
from .factorizations import VECTORIZED_UNTIL, check_pivots, lu_permutation
from .lapack import alone, batched, by_columns, routine

GETRI_UNTIL = 200
"""Up to this size LAPACK's getri is faster than solving for the columns of the identity, on two cores."""


def _result_shape(a: Any, b: Any) -> tuple[int, ...]:
    return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])


def solve_triangular(a: Any, b: Any, upper: bool, adjoint: bool, unitriangular: bool) -> Any:
    if a.shape[-1] != b.shape[-2]:
        raise ValueError("sizes differ")
    shape = _result_shape(a, b)
    if not b.size or not a.size:
        return np.zeros(shape, b.dtype)
    if a.shape[-1] <= VECTORIZED_UNTIL and len(shape) > 2 and np.prod(shape[:-2]) > 4 * a.shape[-1]:
        return _substitute(a, b, shape, upper, adjoint, unitriangular)
    trsm = routine("trsm", a.dtype)
    complex_ = a.dtype.kind == "c"

    def solve(matrix: Any, right: Any) -> Any:
        if matrix.flags.c_contiguous and not (complex_ and adjoint):
            # Row-major memory is the transposed matrix in LAPACK's eyes; this saves a copy.
            return (trsm(1, matrix.T, right, lower=upper, trans_a=not adjoint, diag=unitriangular),)
        return (trsm(1, matrix, right, lower=not upper, trans_a=2 if adjoint else 0, diag=unitriangular),)

    return batched(solve, (a, b), (2, 2), ((b.shape[-2:], b.dtype),))[0]


@quiet
def _substitute(a: Any, b: Any, shape: tuple[int, ...], upper: bool, adjoint: bool, unitriangular: bool) -> Any:
    """Substitution row by row, for all matrices of a batch at once."""
    if adjoint:
        a, upper = a.conj().swapaxes(-1, -2), not upper
    n = a.shape[-1]
    x = np.empty(shape, b.dtype)
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        x[..., i, :] = b[..., i, :] - np.matmul(a[..., i : i + 1, known], x[..., known, :])[..., 0, :]
        if not unitriangular:
            x[..., i, :] /= a[..., i, i, None]
    return x


def lu_solve(factors: Any, pivots: Any, b: Any, adjoint: bool) -> Any:
    shape = _result_shape(factors, b)
    if not b.size:
        return np.zeros(shape, b.dtype)
    check_pivots(pivots, factors.shape[-1])
    if factors.shape[-1] <= VECTORIZED_UNTIL and len(shape) > 2 and np.prod(shape[:-2]) > 4 * factors.shape[-1]:
        order = np.broadcast_to(lu_permutation(pivots, shape[-2]), shape[:-1])[..., None]
        b = np.broadcast_to(b, shape)
        if not adjoint:
            lower = _substitute(factors, np.take_along_axis(b, order, -2), shape, False, False, True)
            return _substitute(factors, lower, shape, True, False, False)
        lower = _substitute(factors, b, shape, True, True, False)
        result = np.empty(shape, b.dtype)
        np.put_along_axis(result, order, _substitute(factors, lower, shape, False, True, True), -2)
        return result

    def solve(matrix: Any, chosen: Any, right: Any) -> Any:
        return (_substituted(matrix, chosen - 1, right, adjoint),)

    return batched(solve, (factors, pivots, b), (2, 1, 2), ((b.shape[-2:], b.dtype),))[0]


def _substituted(factors: Any, pivots: Any, b: Any, adjoint: bool) -> Any:
    """The solution from the factors, pivots counted from 0: LAPACK's getrs, which starts threads for any size."""
    laswp, trsm = routine("laswp", factors.dtype), routine("trsm", factors.dtype)
    if not adjoint:
        x = trsm(1, factors, laswp(b, pivots), lower=1, diag=1, overwrite_b=1)
        return trsm(1, factors, x, overwrite_b=1)
    x = trsm(1, factors, trsm(1, factors, b, trans_a=2), lower=1, trans_a=2, diag=1, overwrite_b=1)
    return laswp(x, pivots, inc=-1, overwrite_a=1)


def solve_ex(a: Any, b: Any) -> Any:
    if a.shape[-1] != b.shape[-2]:
        raise ValueError("sizes differ")
    shape = _result_shape(a, b)
    if not b.size or not a.size:
        return np.zeros(shape, b.dtype), np.zeros(shape[:-2], np.int32)
    if len(shape) > 2:
        try:
            return np.linalg.solve(a, b), np.zeros(shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            pass  # each matrix by itself, to tell which failed
    gesv = routine("gesv", a.dtype)

    def solve(matrix: Any, right: Any) -> Any:
        factors, pivots, x, info = gesv(matrix, right)
        if info:  # LAPACK stops; the infinities that substitution would give are what the decomposition gives
            x = _substituted(factors, pivots, right, False)
        return x, np.asarray(info, np.int32)

    return batched(solve, (a, b), (2, 2), ((b.shape[-2:], b.dtype), ((), np.int32)))


def inv_ex(a: Any) -> Any:
    if not a.size:
        return np.zeros(a.shape, a.dtype), np.zeros(a.shape[:-2], np.int32)
    if a.ndim > 2 or a.shape[-1] > GETRI_UNTIL:
        try:
            # The inverse of the transposed matrix is the transposed inverse: so it comes out column by column.
            return np.linalg.inv(a.swapaxes(-1, -2)).swapaxes(-1, -2), np.zeros(a.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            pass  # each matrix by itself, to tell which failed
    getrf, getri, n = routine("getrf", a.dtype), routine("getri", a.dtype), a.shape[-1]

    def invert(matrix: Any) -> Any:
        factors, pivots, info = getrf(matrix)
        if info:
            return _substituted(factors, pivots, np.eye(n, dtype=matrix.dtype), False), np.asarray(info, np.int32)
        return getri(factors, pivots, lwork=64 * n, overwrite_lu=1)[0], np.asarray(0, np.int32)

    return batched(invert, (a,), (2,), ((a.shape[-2:], a.dtype), ((), np.int32)))


@quiet
def det(a: Any) -> Any:
    return np.asarray(np.linalg.det(a))


@quiet
def slogdet(a: Any) -> Any:
    sign, log = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(log)


def lstsq(a: Any, b: Any, rcond: float, driver: str) -> Any:
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    right = b.shape[-1]
    real = a.real.dtype
    if not a.size or not b.size or not right:
        return (
            np.zeros((*batch, columns, right), a.dtype),
            np.zeros(batch, np.int64),
            np.zeros((*batch, count), real),
        )
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        # LAPACK complains on the standard error stream, and goes on.
        raise LinAlgError(
            "lstsq: A or B has values that are not finite", fix="look for nan and inf in the input (isfinite)"
        )
    import scipy.linalg

    def solve(matrix: Any, target: Any) -> Any:
        if driver == "gels":
            padded = np.zeros((max(rows, columns), right), a.dtype, "F")
            padded[:rows] = target
            _, x, _ = routine("gels", a.dtype)(matrix, padded, lwork=count + max(rows, columns, right) * 64)
            return np.asfortranarray(x[:columns]), np.asarray(count), np.zeros(count, real)
        x, _, rank, values = scipy.linalg.lstsq(matrix, target, cond=rcond, lapack_driver=driver, check_finite=False)
        # SciPy's solution is the top of a taller array.
        x = x[:columns].copy("F")
        return x, np.asarray(rank, np.int64), np.zeros(count, real) if values is None else values

    results = (((columns, right), a.dtype), ((), np.int64), ((count,), real))
    return batched(solve, (a, b), (2, 2), results)


KERNELS = {
    "linalg_solve_triangular": Kernel(by_columns(alone(solve_triangular))),
    "linalg_lu_solve": Kernel(by_columns(alone(lu_solve))),
    "linalg_solve_ex": Kernel(by_columns(alone(solve_ex))),
    "linalg_inv_ex": Kernel(by_columns(alone(inv_ex))),
    "linalg_det": Kernel(alone(det)),
    "linalg_slogdet": Kernel(alone(slogdet)),
    "linalg_lstsq": Kernel(by_columns(alone(lstsq))),
}
