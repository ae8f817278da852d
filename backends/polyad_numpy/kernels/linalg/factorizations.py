"""Cholesky, LU, LDL and QR factorizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet
from .lapack import alone, batch_size, batched, by_columns, column_major, routine

BLOCK = 64
"""Columns of workspace that let LAPACK work on blocks; its own block size is 32 for most routines."""

VECTORIZED_UNTIL = 12
"""Up to this size the elimination of many matrices goes column by column through NumPy, all matrices at once."""


def cholesky_ex(a: Any, upper: bool) -> Any:
    if not a.size:
        return np.zeros(a.shape, a.dtype), np.zeros(a.shape[:-2], np.int32)
    if a.ndim > 2:
        try:
            factors = np.linalg.cholesky(a, upper=upper)
            return factors, _first_nan(factors, np.zeros(a.shape[:-2], np.int32))
        except np.linalg.LinAlgError:
            pass  # each matrix by itself, to tell which failed
    potrf = routine("potrf", a.dtype)

    def factorize(matrix: Any) -> Any:
        factor, info = potrf(matrix, lower=not upper, clean=1)
        return factor, _first_nan(factor, np.asarray(info, np.int32))

    return batched(factorize, (a,), (2,), ((a.shape[-2:], a.dtype), ((), np.int32)))


def _first_nan(factors: Any, info: Any) -> Any:
    """*info* with the place of the first nan on the diagonal, which OpenBLAS lets pass."""
    last = factors[..., -1, -1]  # a nan spreads to all that follows
    if not (last != last).any():
        return info
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    wrong = diagonal != diagonal
    return np.where((info == 0) & wrong.any(-1), wrong.argmax(-1) + 1, info).astype(np.int32)


def lu_factor_ex(a: Any, pivot: bool) -> Any:
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    if not a.size:
        empty = np.zeros((*a.shape[:-2], count), np.int32)
        return np.zeros(a.shape, a.dtype), empty, np.zeros(a.shape[:-2], np.int32)
    if count <= VECTORIZED_UNTIL and batch_size(a) > 4 * count:
        return _eliminate(a)
    getrf = routine("getrf", a.dtype)

    def factorize(matrix: Any) -> Any:
        factors, pivots, info = getrf(matrix)
        pivots += 1
        return factors, pivots.astype(np.int32, copy=False), np.asarray(info, np.int32)

    return batched(factorize, (a,), (2,), ((a.shape[-2:], a.dtype), ((count,), np.int32), ((), np.int32)))


@quiet
def _eliminate(a: Any) -> Any:
    """Gaussian elimination with row exchanges, column by column, of all matrices of a batch at once."""
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    work = a.reshape(-1, rows, columns).copy()
    every = np.arange(len(work))
    pivots = np.empty((len(work), count), np.int32)
    info = np.zeros(len(work), np.int32)
    for k in range(count):
        chosen = k + _magnitude(work[:, k:, k]).argmax(1)
        pivots[:, k] = chosen + 1
        row = work[every, chosen]
        work[every, chosen] = work[:, k]
        work[:, k] = row
        divisor = work[:, k, k]
        singular = divisor == 0
        info[singular & (info == 0)] = k + 1
        if k + 1 < rows:
            # A column of zeros stays zero: LAPACK does not divide by a pivot that is 0.
            work[:, k + 1 :, k] /= np.where(singular, 1, divisor)[:, None]
            work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 :]
    batch = a.shape[:-2]
    return work.reshape(a.shape), pivots.reshape(*batch, count), info.reshape(batch)


def _magnitude(values: Any) -> Any:
    # What LAPACK compares: |re| + |im| for complex numbers.
    return np.abs(values.real) + np.abs(values.imag) if values.dtype.kind == "c" else np.abs(values)


def check_pivots(pivots: Any, rows: int) -> None:
    """Raise IndexError for pivots that name no row: LAPACK would swap with whatever lies there in memory."""
    wrong = (pivots < 1) | (pivots > rows)
    if wrong.any():
        place = [int(at[0]) for at in np.nonzero(wrong)]
        raise IndexError(f"pivots{place} = {pivots[wrong][0]} is not in [1, {rows}]")


def _check_pivot_blocks(pivots: Any, rows: int) -> None:
    """`check_pivots` for those of `ldl_factor`, where two equal negative numbers stand for a block of 2 x 2."""
    check_pivots(np.abs(pivots), rows)
    for order in pivots.reshape(-1, rows).tolist():
        at = 0
        while at < rows:
            if order[at] < 0 and (at + 1 == rows or order[at + 1] >= 0):
                raise IndexError(f"pivots {order} have a negative number at {at} that is not one of a pair")
            at += 1 if order[at] > 0 else 2


def lu_permutation(pivots: Any, rows: int) -> Any:
    check_pivots(pivots, rows)
    batch = pivots.shape[:-1]
    count = batch_size(pivots, 1)
    order = np.broadcast_to(np.arange(rows), (count, rows)).copy()
    if count == 1:
        only = order[0]
        for k, chosen in enumerate((pivots.reshape(-1) - 1).tolist()):
            only[k], only[chosen] = only[chosen], only[k]
    else:
        every = np.arange(count)
        for k, chosen in enumerate((pivots.reshape(count, pivots.shape[-1]) - 1).T):
            moved = order[every, chosen]
            order[every, chosen] = order[:, k]
            order[:, k] = moved
    return order.reshape(*batch, rows)


def ldl_factor_ex(a: Any, hermitian: bool) -> Any:
    n = a.shape[-1]
    if not a.size:
        return np.zeros(a.shape, a.dtype), np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    trf = routine("hetrf" if hermitian else "sytrf", a.dtype)

    def factorize(matrix: Any) -> Any:
        factors, pivots, info = trf(matrix, lower=1, lwork=BLOCK * n)
        return np.asfortranarray(np.tril(factors)), pivots.astype(np.int32), np.asarray(info, np.int32)

    return batched(factorize, (a,), (2,), ((a.shape[-2:], a.dtype), ((n,), np.int32), ((), np.int32)))


def ldl_solve(factors: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    shape = (*np.broadcast_shapes(factors.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    if not b.size:
        return np.zeros(shape, b.dtype)
    _check_pivot_blocks(pivots, factors.shape[-1])
    trs = routine("hetrs" if hermitian else "sytrs", factors.dtype)

    def solve(matrix: Any, order: Any, right: Any) -> Any:
        return (trs(matrix, order, right, lower=1)[0],)

    return batched(solve, (factors, pivots, b), (2, 1, 2), ((b.shape[-2:], b.dtype),))[0]


def geqrf(a: Any) -> Any:
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    if not a.size:
        return np.zeros(a.shape, a.dtype), np.zeros((*a.shape[:-2], count), a.dtype)
    geqrf_ = routine("geqrf", a.dtype)

    def factorize(matrix: Any) -> Any:
        return geqrf_(matrix, lwork=BLOCK * columns)[:2]

    return batched(factorize, (a,), (2,), ((a.shape[-2:], a.dtype), ((count,), a.dtype)))


def householder_product(a: Any, tau: Any) -> Any:
    rows, columns = a.shape[-2:]
    if not a.size:
        return np.zeros(a.shape, a.dtype)
    ungqr = routine("ungqr", a.dtype)

    def multiply(matrix: Any, scales: Any) -> Any:
        if not scales.size:
            return (np.eye(rows, columns, dtype=a.dtype, order="F"),)
        return (ungqr(matrix, scales, lwork=BLOCK * columns)[0],)

    return batched(multiply, (a, tau), (2, 1), ((a.shape[-2:], a.dtype),))[0]


def qr(a: Any, mode: str) -> Any:
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    if not a.size:  # NumPy goes over the batch, with nothing to do in it
        inner = rows if mode == "complete" else count
        unit = np.broadcast_to(np.eye(rows, inner, dtype=a.dtype), (*a.shape[:-2], rows, inner))
        return np.empty(0, a.dtype) if mode == "r" else unit.copy(), np.empty((*a.shape[:-2], inner, columns), a.dtype)
    if a.ndim > 2:
        result = np.linalg.qr(a, mode)
        return (np.empty(0, a.dtype), result) if mode == "r" else (result.Q, result.R)
    factors, tau, _, _ = routine("geqrf", a.dtype)(a, lwork=BLOCK * columns)
    height = rows if mode == "complete" else count
    upper = np.asfortranarray(np.triu(factors[:height]))
    if mode == "r":
        return np.empty(0, a.dtype), upper
    if height > columns:
        wide = column_major((rows, rows), a.dtype)
        wide[:, :columns] = factors
        wide[:, columns:] = 0
    else:
        wide = factors[:, :height]
    return routine("ungqr", a.dtype)(wide, tau, lwork=BLOCK * height, overwrite_a=1)[0], upper


KERNELS = {
    "linalg_cholesky_ex": Kernel(by_columns(alone(cholesky_ex))),
    "linalg_lu_factor_ex": Kernel(by_columns(alone(lu_factor_ex))),
    "lu_permutation": Kernel(lu_permutation),
    "linalg_ldl_factor_ex": Kernel(by_columns(alone(ldl_factor_ex))),
    "linalg_ldl_solve": Kernel(by_columns(alone(ldl_solve))),
    "geqrf": Kernel(by_columns(alone(geqrf))),
    "linalg_householder_product": Kernel(by_columns(alone(householder_product))),
    "linalg_qr": Kernel(by_columns(alone(qr))),
}
