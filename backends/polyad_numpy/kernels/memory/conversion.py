"""Casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import FLOAT8, DType, float8_e4m3fn, float8_e8m0fnu, float16
from polyad.interop.numpy import numpy_dtype

from ...order import arranged
from ...quiet import thread


def cast(array: Any, dtype: DType) -> Any:
    if array.dtype.kind == "c" and not dtype.is_complex and dtype.name != "bool":
        array = array.real
    if array.itemsize == 1 and array.dtype.kind not in "biu":
        array = array.astype(np.float32)  # 8-bit floating numbers, all of which it holds
    if dtype.computes or (array.dtype.kind in "biu" and dtype not in FLOAT8):
        twice = dtype is float16 and array.dtype == np.float64  # as PyTorch, native and generated kernels round
        single = thread.run(array.astype, np.float32) if twice else array
        result = thread.run(single.astype, numpy_dtype(dtype))
    else:
        result = thread.run(_to_float8 if dtype in FLOAT8 else _to_unsigned, array, dtype)
    return result if array.flags.c_contiguous else arranged(result, array)


def _to_float8(array: Any, dtype: DType) -> Any:
    """Rounded to nearest even. What is too large for a dtype without infinities is NaN, but e4m3fn gives its largest
    number then: https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1
    calls that saturating. e8m0fnu has powers of two alone, and takes magnitudes; its bits are the exponent of float32.
    """
    single = array.astype(np.float32)
    if dtype is float8_e8m0fnu:
        bits = np.abs(single).view(np.uint32)
        exponents, rest = bits >> 23, bits & 0x7FFFFF
        half = np.where(exponents > 0, 0x400000, 0x400001)  # numbers below 2**-126 have no leading 1
        return np.minimum(exponents + (rest >= half), 255).astype(np.uint8).view(numpy_dtype(dtype))
    if dtype is float8_e4m3fn:
        single = np.clip(single, -448, 448)
    return single.astype(numpy_dtype(dtype))


def _to_unsigned(array: Any, dtype: DType) -> Any:
    """As C converts on x86-64: through int64, whose low bits stay."""
    double = array.astype(np.float64)
    signed = double.astype(np.int64).astype(numpy_dtype(dtype))
    return signed if dtype.itemsize < 8 else np.where(double < 2.0**63, signed, double.astype(np.uint64))


KERNELS = {
    "cast": Kernel(cast),
}
