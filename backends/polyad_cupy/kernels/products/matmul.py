"""Matrix products: by cuBLASLt where that was proved (`cublaslt_matmul`), else by `cupy.matmul`, which is cuBLAS for
floating dtypes, and CuPy's own kernel for integers.

CuPy 14 gets batched products of bfloat16 wrong and rounds those of float16 twice, so half types are multiplied in
float32 and rounded once.
"""

from __future__ import annotations

from typing import Any

import cupy

from polyad.backend import Kernel
from polyad.base.dtypes import ALL, bfloat16, bool_, float16, float32
from polyad.base.shapes_and_strides import broadcast_shapes, broadcast_strides
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying

from ...runtime.cupy_arrays import shown
from . import cublaslt_matmul

COMPUTED = frozenset(ALL) - {bool_}
_BEFORE_CAPTURE = (
    "multiply once before the capture, so that cuBLASLt is compared and used; `polyad doctor` tells why not"
)


def product(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    a, b = (transposed(a) if transpose_a else a), (transposed(b) if transpose_b else b)
    (m, k), (k_other, n) = a.shape[-2:], b.shape[-2:]
    if k != k_other:
        raise ValueError(f"inner sizes {k} and {k_other} differ")
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    device, dtype = a.device, a.dtype
    out = new(device, (*batch, m, n), dtype)
    if not out.size:
        return out
    if not k:
        copying.fill(out, 0)
        return out
    multiply(out, _spread(a, batch), _spread(b, batch))
    return out


def multiply(out: Array, a: Array, b: Array) -> None:
    """Write the products of (batch, m, k) and (batch, k, n), of equal batches, into the dense *out*."""
    if not cublaslt_matmul.multiplied(out, a, b):
        multiply_safely(out, a, b)


def multiply_safely(out: Array, a: Array, b: Array) -> None:
    """The same by `cupy.matmul`, its defects avoided."""
    device, wide = out.device, out
    device.check_library("matrix product", "cuBLAS", _BEFORE_CAPTURE)
    if out.dtype in (float16, bfloat16):
        wide = new(device, out.shape, float32)
        a, b = _widened(a), _widened(b)
    with device.driver("matrix product"), device.stream, device.pool.temporaries():
        cupy.matmul(shown(a), shown(b), out=shown(wide))
    if wide is not out:
        copying.copy(out, wide)


def transposed(x: Array) -> Array:
    """The transposes of the matrices of *x*, in place."""
    swap: Any = lambda values: (*values[:-2], values[-1], values[-2])  # noqa: E731
    return Array(x.block, x.dtype, swap(x.shape), swap(x.steps), x.offset)


def _spread(x: Array, batch: tuple[int, ...]) -> Array:
    steps = (*broadcast_strides(x.shape[:-2], x.steps[:-2], batch), *x.steps[-2:])
    return Array(x.block, x.dtype, (*batch, *x.shape[-2:]), steps, x.offset)


def _widened(x: Array) -> Array:
    wide = new(x.device, x.shape, float32)
    copying.copy(wide, x)
    return wide


KERNELS = {"gemm": Kernel(product, dtypes=COMPUTED)}
