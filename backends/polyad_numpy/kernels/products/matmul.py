"""Matrix products, through NumPy's BLAS."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import INTEGER, bfloat16, bool_, float16

from ...quiet import thread
from ...workers import spread

_dot, _matmul = np.dot, np.matmul


THREADED = 1 << 18
"""From how many multiplications on BLAS starts threads for a product of two matrices."""


def matmul(a: Any, b: Any) -> Any:
    """The products of a batch of matrices, row-major: by itself ``numpy.matmul`` lays them out as the operands are.

    Matrices for which BLAS would start its threads each time are shared out among the workers instead, who multiply
    each in a single thread.
    """
    rows, columns = a.shape[-2], b.shape[-1]
    if not (rows and columns) and a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2]:
        return np.empty((*a.shape[:-2], rows, columns), np.result_type(a, b))  # the batch may be long all the same
    batch, work = a.shape[:-2], rows * columns * a.shape[-1]
    if work < THREADED or batch != b.shape[:-2] or math.prod(batch) < 2 or a.shape[-1] != b.shape[-2]:
        return thread.run(_matmul, a, b, order="C")
    out = np.empty((*batch, rows, columns), np.result_type(a, b))
    if out.dtype.kind not in "fc":  # BLAS has no part in it
        return thread.run(_matmul, a, b, out)
    # Along the longer of the first dimensions, so that there is something for everyone.
    lead: tuple[slice, ...] = (slice(None),) if len(batch) > 1 and batch[0] < batch[1] else ()

    def multiply(first: int, end: int) -> None:
        part = (*lead, slice(first, end))
        _matmul(a[part], b[part], out[part])

    spread(multiply, batch[len(lead)], cost=work * math.prod(batch))
    return out


def gemm(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if transpose_a:
        a = a.T if a.ndim == 2 else a.swapaxes(-1, -2)
    if transpose_b:
        b = b.T if b.ndim == 2 else b.swapaxes(-1, -2)
    # dot has a third of matmul's overhead on small matrices and calls the same BLAS.
    if a.ndim == 2 and b.ndim == 2:
        return thread.run(_dot, a, b)
    return matmul(a, b)


def vector_product(a: Any, b: Any) -> Any:
    if a.ndim <= 2 and b.ndim <= 2:
        return np.asarray(thread.run(_dot, a, b))
    return thread.run(_matmul, a, b, order="C")


EXACT = 1 << 53
"""Whole numbers up to here are float64s, so that sums which stay below are exact in any order."""

BY_FLOATS = 1 << 12
"""From how many multiplications on integers are worth converting for BLAS."""


def _magnitude(a: Any) -> int:
    """The largest absolute value, or what the dtype allows where that will do."""
    if a.dtype.itemsize < 4:
        return 1 << 8 * a.dtype.itemsize
    return max(abs(int(a.max())), abs(int(a.min())))


def _in_floats(multiply: Callable[..., Any]) -> Callable[..., Any]:
    """*multiply* of integers, by way of float64 where every sum is exact there: NumPy's own loop uses no BLAS."""

    def whole(a: Any, b: Any, *transposed: bool) -> Any:
        inner = a.shape[-2] if transposed and transposed[0] else a.shape[-1]
        if a.size * b.size >= BY_FLOATS * max(inner, 1) and _magnitude(a) * _magnitude(b) * inner < EXACT:
            product = multiply(a.astype(np.float64), b.astype(np.float64), *transposed)
            return product.astype(np.int64).astype(a.dtype, copy=False)
        return multiply(a, b, *transposed)

    return whole


def _by_dtype(multiply: Callable[..., Any]) -> Callable[[Signature], Any]:
    """Half types are multiplied in float32, and bool not at all."""

    def half(a: Any, b: Any, *transposed: bool) -> Any:
        product = multiply(a.astype(np.float32), b.astype(np.float32), *transposed)
        return thread.run(product.astype, a.dtype)

    def specialize(types: Signature) -> Any:
        type_ = types[0]
        assert isinstance(type_, TensorType)
        if type_.dtype in (float16, bfloat16):
            return half
        if type_.dtype.category == INTEGER:
            return _in_floats(multiply)
        return None if type_.dtype is bool_ else multiply

    return specialize


KERNELS = {
    "gemm": Kernel(gemm, specialize=_by_dtype(gemm)),
    "vector_product": Kernel(vector_product, specialize=_by_dtype(vector_product)),
}
