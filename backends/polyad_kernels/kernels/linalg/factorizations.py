"""Matrix factorizations, and the permutation that pivots tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import DType, int32, int64
from polyad.errors import IndexOutOfRange

from ...array import Array, new
from ...kept import kept
from ...source.elements import STORED
from ...source.walking import CHECKED, Walk, closing, cut, letters, local_size, opening, parameters
from .matrices import COMPUTED, count_of, dense, kernel


@kept
def _permutation(device: Any, dtype: DType, rank: int) -> Any:
    source = f"""{CHECKED}
__kernel void permutation(__global long *restrict out, __global const {STORED[dtype.name]} *restrict pivots, long rows,
                          long length, long step, __global long *cell, int number, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    for (long i = 0; i < run; ++i) {{
        __global long *order = out + (at + i) * rows;
        for (long row = 0; row < rows; ++row) order[row] = row;
        for (long k = 0; k < length; ++k) {{
            const long pivot = pivots[a + i * A + k * step];
            if (pivot < 1 || pivot > rows) {{ tell(cell, number, (at + i) * length + k, pivot); break; }}
            const long moved = order[k];
            order[k] = order[pivot - 1];
            order[pivot - 1] = moved;
        }}
    }}
    {closing(rank, "a")}
}}
"""
    signature = "ppqqqpi" + letters(rank, "a")
    return device.kernel(source, "permutation", signature, what="lu_permutation", local=local_size(device))


def lu_permutation(pivots: Array, rows: int) -> Array:
    device, batch = pivots.device, pivots.shape[:-1]
    out = new(device, (*batch, rows), int64)
    if not out.size:
        return out
    shape = pivots.shape

    def judge(position: int, value: int) -> IndexOutOfRange:
        place = [int(at) for at in np.unravel_index(position, shape)]
        return IndexOutOfRange(f"pivots{place} = {value} is not in [1, {rows}]", fix="pass what lu_factor gave")

    walk = Walk(batch, (pivots.offset, pivots.steps[:-1]))
    items, chunk = cut(device, walk.count, max(1, 1024 // rows))
    _permutation(device, pivots.dtype, walk.rank)(
        items, out.buffer, pivots.buffer, rows, shape[-1], pivots.steps[-1], device.trouble_cell,
        device.expect(judge), *walk.arguments(chunk),
    )  # fmt: skip
    device.verify()
    return out


_CHOLESKY = """
// Row by row (Golub and Van Loan, 4.2); of the upper triangle, the conjugates of its elements are meant.
#define AT(i, j) (upper ? conjugate(a[(j) * n + (i)]) : a[(i) * n + (j)])
#define PUT(i, j, x) { if (upper) a[(j) * n + (i)] = conjugate(x); else a[(i) * n + (j)] = (x); }
__kernel void cholesky(__global T *a, __global int *info, long n, int upper)
{
    a += get_global_id(0) * n * n;
    info[get_global_id(0)] = 0;
    for (long j = 0; j < n; ++j) {
        R pivot = real_of(AT(j, j));
        for (long k = 0; k < j; ++k) pivot -= square(AT(j, k));
        if (!(pivot > 0)) { info[get_global_id(0)] = (int)j + 1; break; }
        pivot = sqrt(pivot);
        PUT(j, j, number(pivot));
        for (long i = j + 1; i < n; ++i) {
            T x = AT(i, j);
            for (long k = 0; k < j; ++k) x -= mul(AT(i, k), conjugate(AT(j, k)));
            x = x / pivot;
            PUT(i, j, x);
        }
    }
    for (long i = 0; i < n; ++i) for (long j = i + 1; j < n; ++j) a[upper ? j * n + i : i * n + j] = number(0);
}
"""


def cholesky_ex(a: Array, upper: bool) -> tuple[Array, Array]:
    factors, info = dense(a), new(a.device, a.shape[:-2], int32)
    if info.size:
        run = kernel(a.device, a.dtype, _CHOLESKY, "cholesky", "ppqi")
        run((info.size,), factors.buffer, info.buffer, a.shape[-1], int(upper))
    return factors, info


_LU = """
// Elimination with the largest pivot of each column (Golub and Van Loan, 3.4).
__kernel void lu(__global T *a, __global int *pivots, __global int *info, long rows, long columns)
{
    long count = min(rows, columns);
    a += get_global_id(0) * rows * columns;
    pivots += get_global_id(0) * count;
    int wrong = 0;
    for (long k = 0; k < count; ++k) {
        long chosen = k;
        R most = size_of(a[k * columns + k]);
        for (long i = k + 1; i < rows; ++i) {
            R other = size_of(a[i * columns + k]);
            if (other > most) { most = other; chosen = i; }
        }
        pivots[k] = (int)chosen + 1;
        if (chosen != k) for (long j = 0; j < columns; ++j) {
            T moved = a[k * columns + j];
            a[k * columns + j] = a[chosen * columns + j];
            a[chosen * columns + j] = moved;
        }
        T pivot = a[k * columns + k];
        if (size_of(pivot) == 0) { if (!wrong) wrong = (int)k + 1; continue; }
        for (long i = k + 1; i < rows; ++i) {
            T factor = divided(a[i * columns + k], pivot);
            a[i * columns + k] = factor;
            for (long j = k + 1; j < columns; ++j) a[i * columns + j] -= mul(factor, a[k * columns + j]);
        }
    }
    info[get_global_id(0)] = wrong;
}
"""


def lu_factor_ex(a: Array, pivot: bool) -> tuple[Array, Array, Array]:
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    factors, info = dense(a), new(a.device, batch, int32)
    pivots = new(a.device, (*batch, min(rows, columns)), int32)
    if info.size:
        run = kernel(a.device, a.dtype, _LU, "lu", "pppqq")
        run((info.size,), factors.buffer, pivots.buffer, info.buffer, rows, columns)
    return factors, pivots, info


_LDL = """
// Bunch and Kaufman's diagonal pivoting, as in LAPACK's sytf2 and hetf2 on the lower triangle.
#define A(i, j) a[(i) * n + (j)]
#define OTHER(x) (hermitian ? conjugate(x) : (x))
#define DIAGONAL(x) (hermitian ? fabs(real_of(x)) : size_of(x))
#define SWAP(x, y) { T moved_ = x; x = y; y = moved_; }
__kernel void ldl(__global T *a, __global int *pivots, __global int *info, long n, int hermitian)
{
    const R alpha = (R)((1 + sqrt(17.0f)) / 8);
    a += get_global_id(0) * n * n;
    pivots += get_global_id(0) * n;
    int wrong = 0;
    for (long k = 0; k < n;) {
        long steps = 1, chosen = k, most_at = k;
        R own = DIAGONAL(A(k, k)), most = 0;
        for (long i = k + 1; i < n; ++i) if (size_of(A(i, k)) > most) { most = size_of(A(i, k)); most_at = i; }
        if (!(max(own, most) > 0)) {
            if (!wrong) wrong = (int)k + 1;
            if (hermitian) A(k, k) = real_only(A(k, k));
            pivots[k++] = (int)k + 1;
            continue;
        }
        if (own < alpha * most) {
            R row = 0;
            for (long j = k; j < most_at; ++j) row = max(row, size_of(A(most_at, j)));
            for (long i = most_at + 1; i < n; ++i) row = max(row, size_of(A(i, most_at)));
            if (own >= alpha * most * (most / row)) chosen = k;
            else if (DIAGONAL(A(most_at, most_at)) >= alpha * row) chosen = most_at;
            else { chosen = most_at; steps = 2; }
        }
        long at = k + steps - 1;
        if (chosen != at) {
            for (long i = chosen + 1; i < n; ++i) SWAP(A(i, at), A(i, chosen));
            for (long j = at + 1; j < chosen; ++j) {
                T moved = OTHER(A(j, at));
                A(j, at) = OTHER(A(chosen, j));
                A(chosen, j) = moved;
            }
            A(chosen, at) = OTHER(A(chosen, at));
            SWAP(A(at, at), A(chosen, chosen));
            if (steps == 2) SWAP(A(k + 1, k), A(chosen, k));
        }
        if (hermitian) {
            A(k, k) = real_only(A(k, k));
            if (chosen != k) A(chosen, chosen) = real_only(A(chosen, chosen));
            if (steps == 2) A(k + 1, k + 1) = real_only(A(k + 1, k + 1));
        }
        if (steps == 1) {
            T d = A(k, k);
            for (long j = k + 1; j < n; ++j) {
                T w = divided(OTHER(A(j, k)), d);
                for (long i = j; i < n; ++i) A(i, j) -= mul(A(i, k), w);
                if (hermitian) A(j, j) = real_only(A(j, j));
            }
            for (long i = k + 1; i < n; ++i) A(i, k) = divided(A(i, k), d);
            pivots[k] = (int)chosen + 1;
        } else {
            T e = A(k + 1, k), f = OTHER(e), d0 = A(k, k), d1 = A(k + 1, k + 1);
            // Divided by the large element outside of the diagonal first, so that nothing overflows.
            T u = divided(d1, e), v = divided(d0, f), scale = divided(number(1), mul(u, v) - number(1));
            for (long j = k + 2; j < n; ++j) {
                for (long i = n - 1; i >= j; --i) {
                    T c0 = A(i, k), c1 = A(i, k + 1);
                    T l0 = divided(mul(scale, mul(u, c0) - c1), f), l1 = divided(mul(scale, mul(v, c1) - c0), e);
                    A(i, j) -= mul(l0, OTHER(A(j, k))) + mul(l1, OTHER(A(j, k + 1)));
                }
                if (hermitian) A(j, j) = real_only(A(j, j));
            }
            for (long i = k + 2; i < n; ++i) {
                T c0 = A(i, k), c1 = A(i, k + 1);
                A(i, k) = divided(mul(scale, mul(u, c0) - c1), f);
                A(i, k + 1) = divided(mul(scale, mul(v, c1) - c0), e);
            }
            pivots[k] = pivots[k + 1] = -(int)chosen - 1;
        }
        k += steps;
    }
    for (long i = 0; i < n; ++i) for (long j = i + 1; j < n; ++j) A(i, j) = number(0);
    info[get_global_id(0)] = wrong;
}
"""


def ldl_factor_ex(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    factors, info = dense(a), new(a.device, a.shape[:-2], int32)
    pivots = new(a.device, a.shape[:-1], int32)
    if info.size:
        run = kernel(a.device, a.dtype, _LDL, "ldl", "pppqi")
        run((info.size,), factors.buffer, pivots.buffer, info.buffer, a.shape[-1], int(hermitian))
    return factors, pivots, info


_GEQRF = """
// Householder's reflections (Golub and Van Loan, 5.2), scaled as LAPACK's are: v is 1 at the diagonal.
__kernel void geqrf(__global T *a, __global T *tau, long rows, long columns)
{
    long count = min(rows, columns);
    a += get_global_id(0) * rows * columns;
    tau += get_global_id(0) * count;
    for (long k = 0; k < count; ++k) {
        R largest = 0;
        for (long i = k + 1; i < rows; ++i) largest = max(largest, size_of(a[i * columns + k]));
        T head = a[k * columns + k];
        T rest = head - real_only(head);
        if (largest == 0 && size_of(rest) == 0) { tau[k] = number(0); continue; }
        largest = max(largest, size_of(head));
        R norm = square(head / largest);
        for (long i = k + 1; i < rows; ++i) norm += square(a[i * columns + k] / largest);
        R beta = -copysign(largest * sqrt(norm), real_of(head));
        T scale = (number(beta) - head) / beta;
        tau[k] = scale;
        for (long i = k + 1; i < rows; ++i)
            a[i * columns + k] = divided(a[i * columns + k], head - number(beta));
        a[k * columns + k] = number(beta);
        for (long j = k + 1; j < columns; ++j) {
            T sum = a[k * columns + j];
            for (long i = k + 1; i < rows; ++i) sum += mul(conjugate(a[i * columns + k]), a[i * columns + j]);
            sum = mul(conjugate(scale), sum);
            a[k * columns + j] -= sum;
            for (long i = k + 1; i < rows; ++i) a[i * columns + j] -= mul(a[i * columns + k], sum);
        }
    }
}
"""


def geqrf(a: Array) -> tuple[Array, Array]:
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    factors, tau = dense(a), new(a.device, (*batch, min(rows, columns)), a.dtype)
    if factors.size:
        run = kernel(a.device, a.dtype, _GEQRF, "geqrf", "ppqq")
        run((count_of(batch),), factors.buffer, tau.buffer, rows, columns)
    return factors, tau


KERNELS = {
    "geqrf": Kernel(geqrf, dtypes=COMPUTED),
    "linalg_cholesky_ex": Kernel(cholesky_ex, dtypes=COMPUTED),
    "linalg_ldl_factor_ex": Kernel(ldl_factor_ex, dtypes=COMPUTED),
    "linalg_lu_factor_ex": Kernel(lu_factor_ex, dtypes=COMPUTED),
    "lu_permutation": Kernel(lu_permutation),
}
