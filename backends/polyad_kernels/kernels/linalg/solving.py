"""Linear systems with triangular matrices and from LDL factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.errors import IndexOutOfRange

from ...array import Array
from .matrices import COMPUTED, count_of, dense, kernel

_TRIANGULAR = """
// Substitution; a work-item solves for a column.
__kernel void triangular(__global T *x, __global const T *a, long n, long columns, int upper, int adjoint, int unit)
{
    long matrix = get_global_id(0) / columns;
    x += matrix * n * columns + get_global_id(0) % columns;
    a += matrix * n * n;
    int down = adjoint ? upper : !upper;
    for (long step = 0; step < n; ++step) {
        long i = down ? step : n - 1 - step;
        T sum = x[i * columns];
        for (long j = down ? 0 : i + 1; j < (down ? i : n); ++j)
            sum -= mul(adjoint ? conjugate(a[j * n + i]) : a[i * n + j], x[j * columns]);
        if (!unit) sum = divided(sum, adjoint ? conjugate(a[i * n + i]) : a[i * n + i]);
        x[i * columns] = sum;
    }
}
"""


def solve_triangular(a: Array, b: Array, upper: bool, adjoint: bool, unitriangular: bool) -> Array:
    if a.shape[-1] != b.shape[-2]:
        raise ValueError("sizes differ")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = dense(b, batch)
    if x.size:
        run = kernel(a.device, a.dtype, _TRIANGULAR, "triangular", "ppqqiii")
        flags = (int(upper), int(adjoint), int(unitriangular))
        matrices = dense(a, batch)
        run((count_of(batch) * b.shape[-1],), x.buffer, matrices.buffer, a.shape[-1], b.shape[-1], *flags)
    return x


_LDL_SOLVE = """
// As LAPACK's sytrs and hetrs on the lower triangle; a work-item solves for a column.
#define A(i, j) a[(i) * n + (j)]
#define B(i) b[(i) * columns]
#define OTHER(x) (hermitian ? conjugate(x) : (x))
#define SWAP(i, j) { T moved_ = B(i); B(i) = B(j); B(j) = moved_; }
__kernel void ldl_solve(__global T *b, __global const T *a, __global const int *pivots, long n, long columns,
                        int hermitian, __global long *cell, int number_of)
{
    long matrix = get_global_id(0) / columns;
    b += matrix * n * columns + get_global_id(0) % columns;
    a += matrix * n * n;
    pivots += matrix * n;
    for (long k = 0; k < n; ++k) {
        long p = abs(pivots[k]);
        if (p < 1 || p > n) { tell(cell, number_of, matrix * n + k, pivots[k]); return; }
    }
    for (long k = 0; k < n; k += pivots[k] > 0 ? 1 : 2)
        if (pivots[k] < 0 && (k + 1 == n || pivots[k + 1] >= 0)) {
            tell(cell, number_of, matrix * n + k, pivots[k]);
            return;
        }
    long k = 0;
    while (k < n) {
        if (pivots[k] > 0) {
            SWAP(k, pivots[k] - 1);
            for (long i = k + 1; i < n; ++i) B(i) -= mul(A(i, k), B(k));
            B(k) = divided(B(k), A(k, k));
            k += 1;
        } else {
            SWAP(k + 1, -pivots[k] - 1);
            for (long i = k + 2; i < n; ++i) B(i) -= mul(A(i, k), B(k)) + mul(A(i, k + 1), B(k + 1));
            T e = A(k + 1, k), f = OTHER(e);
            T u = divided(A(k + 1, k + 1), e), v = divided(A(k, k), f), scale = mul(u, v) - number(1);
            T x = divided(B(k), f), y = divided(B(k + 1), e);
            B(k) = divided(mul(u, x) - y, scale);
            B(k + 1) = divided(mul(v, y) - x, scale);
            k += 2;
        }
    }
    k = n - 1;
    while (k >= 0) {
        long low = pivots[k] > 0 ? k : k - 1;
        for (long row = low; row <= k; ++row)
            for (long i = k + 1; i < n; ++i) B(row) -= mul(OTHER(A(i, row)), B(i));
        SWAP(k, abs(pivots[k]) - 1);
        k = low - 1;
    }
}
"""


def ldl_solve(factors: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    x = dense(b, batch)
    if not x.size:
        return x
    device, n = b.device, factors.shape[-1]
    order, packed = dense(pivots, batch, core=1), dense(factors, batch)

    shape = order.shape

    def judge(position: int, value: int) -> Any:
        place = [int(at) for at in np.unravel_index(position, shape)]
        if 1 <= abs(value) <= n:
            return IndexOutOfRange(
                f"pivots{place} = {value} is not one of a pair of equal negative numbers",
                fix="pass what ldl_factor gave",
            )
        return IndexOutOfRange(f"pivots{place} = {value} is not in [1, {n}]", fix="pass what ldl_factor gave")

    run = kernel(device, b.dtype, _LDL_SOLVE, "ldl_solve", "pppqqipi")
    run(
        (count_of(batch) * b.shape[-1],), x.buffer, packed.buffer, order.buffer, n, b.shape[-1],
        int(hermitian), device.trouble_cell, device.expect(judge),
    )  # fmt: skip
    device.verify()
    return x


KERNELS = {
    "linalg_ldl_solve": Kernel(ldl_solve),
    "linalg_solve_triangular": Kernel(solve_triangular, dtypes=COMPUTED),
}
