"""Eigenvalues and singular values, by methods that are short and accurate rather than fast on a large matrix.

eigh  Jacobi's rotations (Golub and Van Loan, 8.5)
svd   one-sided Jacobi rotations of the columns (Golub and Van Loan, 8.6.3)
eig   Hessenberg form, then QR steps with Wilkinson's shifts, in complex numbers (Golub and Van Loan, 7.5)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import DType
from polyad.errors import LinAlgError

from ...array import Array, new
from .matrices import COMPUTED, count_of, dense, kernel

NOT_FINITE, UNFINISHED = 1, 2
"""What kernels tell of a matrix that they gave up."""

_SWEEPS = 60
"""Jacobi's method converges quadratically: ten sweeps are many. What has not converged by then holds nan or inf."""


def failure(op: str, batch: tuple[int, ...]) -> Callable[[int, int], Any]:
    """Makes the error of *op* for a matrix of a batch that was noted with `NOT_FINITE` or `UNFINISHED`."""

    def judge(position: int, value: int) -> Any:
        place = tuple([int(at) for at in np.unravel_index(position, batch)])
        element = f"batch element {place[0] if len(place) == 1 else place}" if batch else "the input"
        where = f": {element} has values that are not finite" if value == NOT_FINITE else f" for {element}"
        return LinAlgError(
            f"{op}: the algorithm did not converge{where}",
            fix="look for nan and inf in the input (isfinite), scale it, or add a small multiple of the identity",
        )

    return judge


_EIGH = f"""
#define A(i, j) a[(i) * n + (j)]
#define V(i, j) v[(i) * n + (j)]
__kernel void eigh(__global R *values, __global T *v, __global T *a, __global const T *source, long so, long sb,
                   long si, long sj, long n, int upper, __global long *cell, int number_of)
{{
    long matrix = get_global_id(0);
    values += matrix * n; v += matrix * n * n; a += matrix * n * n; source += so + matrix * sb;
    R norm = 0;
    for (long i = 0; i < n; ++i)
        for (long j = 0; j <= i; ++j) {{
            T x = upper ? conjugate(source[j * si + i * sj]) : source[i * si + j * sj];
            if (i == j) x = real_only(x);
            A(i, j) = x;
            A(j, i) = conjugate(x);
            V(i, j) = number(i == j);
            V(j, i) = number(i == j);
            norm = max(norm, size_of(x));
            if (!isfinite(size_of(x))) {{ tell(cell, number_of, matrix, {NOT_FINITE}); return; }}
        }}
    int sweep = 0, rotated = norm > 0;
    for (; rotated && sweep < {_SWEEPS}; ++sweep) {{
        rotated = 0;
        for (long p = 0; p < n; ++p) for (long q = p + 1; q < n; ++q) {{
            T off = A(p, q);
            R size = hypot(real_of(off), size_of(off - real_only(off)));
            R own = fabs(real_of(A(p, p))), other = fabs(real_of(A(q, q)));
            if (size <= EPS * 0.25f * sqrt(own) * sqrt(other) || size <= EPS * EPS * norm) continue;
            rotated = 1;
            // The rotation that makes the pair diagonal; phase turns its element outside of the diagonal real.
            T phase = off / size;
            R theta = (real_of(A(q, q)) - real_of(A(p, p))) / (2 * size);
            R t = copysign((R)1, theta) / (fabs(theta) + hypot(theta, (R)1));
            R c = 1 / sqrt(t * t + 1), s = t * c;
            for (long k = 0; k < n; ++k) {{
                T x = A(k, p), y = mul(A(k, q), conjugate(phase));
                A(k, p) = c * x - s * y;
                A(k, q) = s * x + c * y;
                x = V(k, p); y = mul(V(k, q), conjugate(phase));
                V(k, p) = c * x - s * y;
                V(k, q) = s * x + c * y;
            }}
            for (long k = 0; k < n; ++k) {{
                T x = A(p, k), y = mul(A(q, k), phase);
                A(p, k) = c * x - s * y;
                A(q, k) = s * x + c * y;
            }}
            A(p, q) = A(q, p) = number(0);
        }}
    }}
    if (rotated) {{ tell(cell, number_of, matrix, {UNFINISHED}); return; }}
    for (long i = 0; i < n; ++i) values[i] = real_of(A(i, i));
    for (long i = 0; i < n; ++i) {{
        long least = i;
        for (long j = i + 1; j < n; ++j) if (values[j] < values[least]) least = j;
        if (least == i) continue;
        R moved = values[i]; values[i] = values[least]; values[least] = moved;
        for (long k = 0; k < n; ++k) {{ T x = V(k, i); V(k, i) = V(k, least); V(k, least) = x; }}
    }}
}}
"""


def _flat(a: Array) -> tuple[Array, int]:
    """*a* with a batch whose matrices lie equally far apart, and that distance."""
    if a.ndim == 2:
        return a, 0
    if a.ndim == 3:
        return a, a.steps[0]
    copied = dense(a)
    return copied, a.shape[-1] * a.shape[-2]


def eigh(input: Array, upper: bool) -> tuple[Array, Array]:
    device, batch, n = input.device, input.shape[:-2], input.shape[-1]
    values, vectors = new(device, input.shape[:-1], input.dtype.to_real()), new(device, input.shape, input.dtype)
    if vectors.size:
        a, apart = _flat(input)
        work = new(device, input.shape, input.dtype)
        run = kernel(device, input.dtype, _EIGH, "eigh", "ppppqqqqqipi")
        run(
            (count_of(batch),), values.buffer, vectors.buffer, work.buffer, a.buffer, a.offset, apart, *a.steps[-2:], n,
            int(upper), device.trouble_cell, device.expect(failure("linalg.eigh", batch)),
        )  # fmt: skip
        device.verify()
    return values, vectors


_SVD = f"""
// Of A, or of its adjoint if A is wider than high: G V = U S, with the columns of G made orthogonal.
#define G(i, j) g[(i) * n + (j)]
#define V(i, j) v[(i) * n + (j)]
#define LEFT(i, j) left[(i) * width + (j)]

// Column j of a matrix (rows x width) as a unit vector orthogonal to the columns before it.
void complete(__global T *left, long rows, long width, long j)
{{
    R best = -1;
    long chosen = 0;
    for (long e = 0; e < rows; ++e) {{
        R rest = 1;
        for (long k = 0; k < j; ++k) rest -= square(LEFT(e, k));
        if (rest > best) {{ best = rest; chosen = e; }}
    }}
    for (long i = 0; i < rows; ++i) LEFT(i, j) = number(i == chosen);
    for (int twice = 0; twice < 2; ++twice) {{
        for (long k = 0; k < j; ++k) {{
            T along = number(0);
            for (long i = 0; i < rows; ++i) along += mul(conjugate(LEFT(i, k)), LEFT(i, j));
            for (long i = 0; i < rows; ++i) LEFT(i, j) -= mul(along, LEFT(i, k));
        }}
        R norm = 0;
        for (long i = 0; i < rows; ++i) norm += square(LEFT(i, j));
        norm = sqrt(norm);
        for (long i = 0; i < rows; ++i) LEFT(i, j) = LEFT(i, j) / norm;
    }}
}}

__kernel void svd(__global T *u, __global R *values, __global T *vh, __global T *g, __global T *v, __global T *left,
                  __global const T *source, long so, long sb, long si, long sj, long rows, long columns, int full,
                  __global long *cell, int number_of)
{{
    long matrix = get_global_id(0);
    int wide = columns > rows;
    long m = wide ? columns : rows, n = wide ? rows : columns, width = full ? m : n;
    u += matrix * rows * (full ? rows : n);
    vh += matrix * columns * (full ? columns : n);
    values += matrix * n; g += matrix * m * n; v += matrix * n * n; left += matrix * m * width;
    source += so + matrix * sb;
    R largest = 0;
    for (long i = 0; i < m; ++i) for (long j = 0; j < n; ++j) {{
        T x = wide ? conjugate(source[j * si + i * sj]) : source[i * si + j * sj];
        G(i, j) = x;
        largest = max(largest, size_of(x));
        if (!isfinite(size_of(x))) {{ tell(cell, number_of, matrix, {NOT_FINITE}); return; }}
    }}
    // Squares of what is computed with neither overflow nor vanish.
    R unit = largest > 0 ? largest : 1;
    for (long i = 0; i < m; ++i) for (long j = 0; j < n; ++j) G(i, j) = G(i, j) / unit;
    for (long i = 0; i < n; ++i) for (long j = 0; j < n; ++j) V(i, j) = number(i == j);
    int rotated = largest > 0;
    for (int sweep = 0; rotated && sweep < {_SWEEPS}; ++sweep) {{
        rotated = 0;
        for (long p = 0; p < n; ++p) for (long q = p + 1; q < n; ++q) {{
            R own = 0, other = 0;
            T off = number(0);
            for (long i = 0; i < m; ++i) {{
                own += square(G(i, p)); other += square(G(i, q)); off += mul(conjugate(G(i, p)), G(i, q));
            }}
            R size = hypot(real_of(off), size_of(off - real_only(off)));
            if (size <= EPS * sqrt(own) * sqrt(other) || size <= EPS * EPS) continue;
            rotated = 1;
            T phase = off / size;
            R theta = (other - own) / (2 * size);
            R t = copysign((R)1, theta) / (fabs(theta) + hypot(theta, (R)1));
            R c = 1 / sqrt(t * t + 1), s = t * c;
            for (long i = 0; i < m; ++i) {{
                T x = G(i, p), y = mul(G(i, q), conjugate(phase));
                G(i, p) = c * x - s * y;
                G(i, q) = s * x + c * y;
            }}
            for (long i = 0; i < n; ++i) {{
                T x = V(i, p), y = mul(V(i, q), conjugate(phase));
                V(i, p) = c * x - s * y;
                V(i, q) = s * x + c * y;
            }}
        }}
    }}
    if (rotated) {{ tell(cell, number_of, matrix, {UNFINISHED}); return; }}
    for (long j = 0; j < n; ++j) {{
        R norm = 0;
        for (long i = 0; i < m; ++i) norm += square(G(i, j));
        values[j] = sqrt(norm);
    }}
    for (long j = 0; j < n; ++j) {{
        long most = j;
        for (long k = j + 1; k < n; ++k) if (values[k] > values[most]) most = k;
        if (most == j) continue;
        R moved = values[j]; values[j] = values[most]; values[most] = moved;
        for (long i = 0; i < m; ++i) {{ T x = G(i, j); G(i, j) = G(i, most); G(i, most) = x; }}
        for (long i = 0; i < n; ++i) {{ T x = V(i, j); V(i, j) = V(i, most); V(i, most) = x; }}
    }}
    // Columns of nothing but rounding have no direction of their own.
    for (long j = 0; j < width; ++j) {{
        if (j < n && values[j] > EPS * n * values[0])
            for (long i = 0; i < m; ++i) LEFT(i, j) = G(i, j) / values[j];
        else complete(left, m, width, j);
    }}
    for (long j = 0; j < n; ++j) values[j] *= unit;
    long outs = full ? rows : n, ins = full ? columns : n;
    if (wide) {{
        for (long i = 0; i < rows; ++i) for (long j = 0; j < n; ++j) u[i * outs + j] = V(i, j);
        for (long i = 0; i < ins; ++i) for (long j = 0; j < columns; ++j) vh[i * columns + j] = conjugate(LEFT(j, i));
    }} else {{
        for (long i = 0; i < rows; ++i) for (long j = 0; j < outs; ++j) u[i * outs + j] = LEFT(i, j);
        for (long i = 0; i < n; ++i) for (long j = 0; j < columns; ++j) vh[i * columns + j] = conjugate(V(j, i));
    }}
}}
"""


def svd(input: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    device, batch, (rows, columns) = input.device, input.shape[:-2], input.shape[-2:]
    m, n = max(rows, columns), min(rows, columns)
    dtype = input.dtype
    u = new(device, (*batch, rows, rows if full_matrices else n), dtype)
    values = new(device, (*batch, n), dtype.to_real())
    vh = new(device, (*batch, columns if full_matrices else n, columns), dtype)
    if not input.size:
        for vectors in (u, vh):
            _identity(vectors)
        return u, values, vh
    a, apart = _flat(input)
    scratch = [new(device, (*batch, *shape), dtype) for shape in ((m, n), (n, n), (m, m if full_matrices else n))]
    run = kernel(device, dtype, _SVD, "svd", "pppppppqqqqqqipi")
    run(
        (count_of(batch),), u.buffer, values.buffer, vh.buffer, *[part.buffer for part in scratch], a.buffer, a.offset,
        apart, *a.steps[-2:], rows, columns, int(full_matrices), device.trouble_cell,
        device.expect(failure("linalg.svd", batch)),
    )  # fmt: skip
    device.verify()
    return u, values, vh


def _identity(out: Array) -> None:
    """Write identity matrices: what the vectors of a matrix without rows or columns are."""
    if not out.size:
        return
    rows, columns = out.shape[-2:]
    host = np.broadcast_to(np.eye(rows, columns), out.shape).astype(out.dtype.name)
    out.device.write(out.buffer, np.ascontiguousarray(host).reshape(-1).view(np.uint8))


_EIG = (
    f"#define NOT_FINITE {NOT_FINITE}\n#define UNFINISHED {UNFINISHED}\n"
    + """
#define H(i, j) h[(i) * n + (j)]
#define Z(i, j) z[(i) * n + (j)]
T scaled(T x, R by) { return NEW(T)(x.x * by, x.y * by); }
R length_of(T x) { return hypot(x.x, x.y); }
T root_of(T x)
{
    R size = length_of(x);
    if (size == 0) return number(0);
    R re = sqrt((size + fabs(x.x)) / 2), im = fabs(x.y) / (2 * re);
    return x.x >= 0 ? NEW(T)(re, copysign(im, x.y)) : NEW(T)(im, copysign(re, x.y));
}
__kernel void eig(__global T *values, __global T *vectors, __global T *h, __global T *z, __global T *work,
                  __global const INPUT *source, long so, long sb, long si, long sj, long n, __global long *cell,
                  int number_of)
{
    long matrix = get_global_id(0);
    values += matrix * n; vectors += matrix * n * n; h += matrix * n * n; z += matrix * n * n; work += matrix * 2 * n;
    source += so + matrix * sb;
    R norm = 0;
    for (long i = 0; i < n; ++i) for (long j = 0; j < n; ++j) {
        T x = READ(source[i * si + j * sj]);
        H(i, j) = x;
        Z(i, j) = number(i == j);
        norm = max(norm, size_of(x));
        if (!isfinite(size_of(x))) { tell(cell, number_of, matrix, NOT_FINITE); return; }
    }
    // Hessenberg form: reflections from both sides, gathered in z.
    for (long k = 0; k + 2 < n; ++k) {
        R largest = 0;
        for (long i = k + 2; i < n; ++i) largest = max(largest, size_of(H(i, k)));
        if (largest == 0) continue;
        largest = max(largest, size_of(H(k + 1, k)));
        R sum = 0;
        for (long i = k + 1; i < n; ++i) { work[i] = scaled(H(i, k), 1 / largest); sum += square(work[i]); }
        R length = sqrt(sum), head = length_of(work[k + 1]);
        T phase = head == 0 ? number(1) : scaled(work[k + 1], 1 / head);
        work[k + 1] += scaled(phase, length);
        R factor = 1 / (length * (length + head));
        for (long j = k; j < n; ++j) {
            T along = number(0);
            for (long i = k + 1; i < n; ++i) along += mul(conjugate(work[i]), H(i, j));
            along = scaled(along, factor);
            for (long i = k + 1; i < n; ++i) H(i, j) -= mul(along, work[i]);
        }
        for (long i = 0; i < n; ++i) {
            T along = number(0), turned = number(0);
            for (long j = k + 1; j < n; ++j) { along += mul(H(i, j), work[j]); turned += mul(Z(i, j), work[j]); }
            along = scaled(along, factor);
            turned = scaled(turned, factor);
            for (long j = k + 1; j < n; ++j) {
                H(i, j) -= mul(along, conjugate(work[j]));
                Z(i, j) -= mul(turned, conjugate(work[j]));
            }
        }
        for (long i = k + 2; i < n; ++i) H(i, k) = number(0);
    }
    // QR steps on the part [low, high] that has not split yet.
    long high = n - 1, tries = 0;
    while (high > 0) {
        long low = high;
        for (; low > 0; --low) {
            R around = size_of(H(low, low)) + size_of(H(low - 1, low - 1));
            if (size_of(H(low, low - 1)) <= EPS * (around > 0 ? around : norm)) { H(low, low - 1) = number(0); break; }
        }
        if (low == high) { --high; tries = 0; continue; }
        if (++tries > 60) { tell(cell, number_of, matrix, UNFINISHED); return; }
        T a = H(high - 1, high - 1), b = H(high - 1, high), c = H(high, high - 1), d = H(high, high), shift;
        if (tries % 11 == 10) shift = d + number(size_of(c) + (high > 1 ? size_of(H(high - 1, high - 2)) : 0));
        else {
            T middle = scaled(a - d, (R)0.5), root = root_of(mul(middle, middle) + mul(b, c));
            T plus = middle + root, minus = middle - root;
            shift = d + (square(plus) < square(minus) ? plus : minus);
        }
        for (long i = low; i <= high; ++i) H(i, i) -= shift;
        T c0 = number(1), s0 = number(0);
        for (long k = low; k <= high; ++k) {
            T c1 = number(1), s1 = number(0);
            if (k < high) {
                // The rotation [[c, s], [-conj(s), conj(c)]] that clears H(k + 1, k).
                T x = H(k, k), y = H(k + 1, k);
                R scale = max(size_of(x), size_of(y)), length = 0;
                if (scale > 0) {
                    length = scale * sqrt(square(scaled(x, 1 / scale)) + square(scaled(y, 1 / scale)));
                    c1 = scaled(conjugate(x), 1 / length);
                    s1 = scaled(conjugate(y), 1 / length);
                }
                for (long j = k; j < n; ++j) {
                    T p = H(k, j), q = H(k + 1, j);
                    H(k, j) = mul(c1, p) + mul(s1, q);
                    H(k + 1, j) = mul(conjugate(c1), q) - mul(conjugate(s1), p);
                }
            }
            if (k > low) {
                // The adjoint of the rotation before, from the right.
                for (long i = 0; i <= k; ++i) {
                    T p = H(i, k - 1), q = H(i, k);
                    H(i, k - 1) = mul(p, conjugate(c0)) + mul(q, conjugate(s0));
                    H(i, k) = mul(q, c0) - mul(p, s0);
                }
                for (long i = 0; i < n; ++i) {
                    T p = Z(i, k - 1), q = Z(i, k);
                    Z(i, k - 1) = mul(p, conjugate(c0)) + mul(q, conjugate(s0));
                    Z(i, k) = mul(q, c0) - mul(p, s0);
                }
            }
            c0 = c1;
            s0 = s1;
        }
        for (long i = low; i <= high; ++i) H(i, i) += shift;
    }
    // Eigenvectors of the triangle, turned back by z; of length 1, with a real largest element as LAPACK's have.
    for (long k = 0; k < n; ++k) {
        T value = H(k, k);
        values[k] = value;
        work[k] = number(1);
        for (long i = k - 1; i >= 0; --i) {
            T sum = H(i, k);
            for (long j = i + 1; j < k; ++j) sum += mul(H(i, j), work[j]);
            T gap = value - H(i, i);
            if (size_of(gap) < EPS * max(norm, (R)1e-30)) gap = number(EPS * max(norm, (R)1e-30));
            work[i] = divided(sum, gap);
            if (size_of(work[i]) > 1e15f) {
                R smaller = 1 / size_of(work[i]);
                for (long j = i; j <= k; ++j) work[j] = scaled(work[j], smaller);
            }
        }
        R most = 0, sum = 0;
        T largest = number(1);
        for (long i = 0; i < n; ++i) {
            T x = number(0);
            for (long j = 0; j <= k; ++j) x += mul(Z(i, j), work[j]);
            vectors[i * n + k] = x;
            sum += square(x);
            if (square(x) > most) { most = square(x); largest = x; }
        }
        T turn = divided(number(length_of(largest)), largest);
        turn = scaled(turn, 1 / sqrt(sum));
        for (long i = 0; i < n; ++i) vectors[i * n + k] = mul(vectors[i * n + k], turn);
    }
}
"""
)


def _reading(dtype: DType) -> str:
    """How the input's elements become complex."""
    real = "float" if dtype.to_real().itemsize == 4 else "double"
    if dtype.is_complex:
        return f"#define INPUT {real}2\n#define READ(x) (x)\n"
    return f"#define INPUT {real}\n#define READ(x) NEW(T)(x, 0)\n"


def eig(input: Array) -> tuple[Array, Array]:
    device, batch, n = input.device, input.shape[:-2], input.shape[-1]
    dtype = input.dtype.to_complex()
    values, vectors = new(device, input.shape[:-1], dtype), new(device, input.shape, dtype)
    if vectors.size:
        a, apart = _flat(input)
        scratch = [new(device, (*batch, *shape), dtype) for shape in ((n, n), (n, n), (2, n))]
        run = kernel(device, dtype, _reading(input.dtype) + _EIG, "eig", "ppppppqqqqqpi")
        run(
            (count_of(batch),), values.buffer, vectors.buffer, *[part.buffer for part in scratch], a.buffer, a.offset,
            apart, *a.steps[-2:], n, device.trouble_cell, device.expect(failure("linalg.eig", batch)),
        )  # fmt: skip
        device.verify()
    return values, vectors


KERNELS = {
    "linalg_eig": Kernel(eig, dtypes=COMPUTED),
    "linalg_eigh": Kernel(eigh, dtypes=COMPUTED),
    "linalg_svd": Kernel(svd, dtypes=COMPUTED),
}
