"""What kernels on matrices share: numbers that are real or complex, and batches of row-major matrices.

A work-item treats a matrix (or a column of it), so a batch is as parallel as it is long; a single large matrix is
not. The methods are those of the literature, unblocked, named in each kernel's comment.
"""

from __future__ import annotations

import math
from typing import Any

from polyad.base.dtypes import DType, complex64, complex128, float32, float64

from ...array import Array, new
from ...kept import kept
from ...source.walking import CHECKED
from ..memory import conversion as copying

COMPUTED = frozenset({float32, float64, complex64, complex128})

_REAL = """
typedef R T;
T mul(T a, T b) { return a * b; }
T divided(T a, T b) { return a / b; }
T conjugate(T a) { return a; }
T number(R x) { return x; }
R real_of(T a) { return a; }
R square(T a) { return a * a; }
R size_of(T a) { return fabs(a); }
T real_only(T a) { return a; }
"""

_COMPLEX = """
typedef R2 T;
T mul(T a, T b) { return NEW(T)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
T divided(T a, T b) {
    // Smith's method: no square that could overflow.
    if (fabs(b.x) >= fabs(b.y)) {
        R r = b.y / b.x, d = b.x + b.y * r;
        return b.x == 0 ? NEW(T)(a.x / b.x, a.y / b.x) : NEW(T)((a.x + a.y * r) / d, (a.y - a.x * r) / d);
    }
    R r = b.x / b.y, d = b.x * r + b.y;
    return NEW(T)((a.x * r + a.y) / d, (a.y * r - a.x) / d);
}
T conjugate(T a) { return NEW(T)(a.x, -a.y); }
T number(R x) { return NEW(T)(x, 0); }
R real_of(T a) { return a.x; }
R square(T a) { return a.x * a.x + a.y * a.y; }
R size_of(T a) { return fabs(a.x) + fabs(a.y); }
T real_only(T a) { return NEW(T)(a.x, 0); }
"""
"""``size_of`` is |re| + |im|, by which LAPACK chooses pivots."""


def prologue(dtype: DType) -> str:
    """Definitions: ``R`` and ``T``, real and own type, and the functions above."""
    real = "float" if dtype in (float32, complex64) else "double"
    epsilon = "FLT_EPSILON" if real == "float" else "DBL_EPSILON"
    lines = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] if real == "double" else []
    lines += [f"#define R {real}", f"#define R2 {real}2", f"#define EPS {epsilon}", CHECKED]
    lines.append(_COMPLEX if dtype.is_complex else _REAL)
    return "\n".join(lines)


def count_of(batch: tuple[int, ...]) -> int:
    """How many matrices a batch has."""
    return math.prod(batch)


def dense(x: Array, batch: tuple[int, ...] | None = None, core: int = 2) -> Array:
    """A row-major copy of *x*, spread over *batch*; *core* counts the dimensions that are no batch."""
    shape = x.shape if batch is None else (*batch, *x.shape[x.ndim - core :])
    copied = new(x.device, shape, x.dtype)
    copying.copy(copied, x)
    return copied


@kept
def kernel(device: Any, dtype: DType, source: str, name: str, parameters: str) -> Any:
    """Kernel *name* of *source* for matrices of *dtype*."""
    return device.kernel(prologue(dtype) + source, name, parameters, what=f"linalg.{name} {dtype.name}")
