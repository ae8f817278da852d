"""Casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import DType, float16
from polyad.interop.numpy import converted, is_for_memory, numpy_dtype

from ...order import arranged
from ...quiet import thread


def cast(array: Any, dtype: DType) -> Any:
    if array.dtype.kind == "c" and not dtype.is_complex and dtype.name != "bool":
        array = array.real
    if dtype.computes and not is_for_memory(array.dtype):
        twice = dtype is float16 and array.dtype == np.float64  # as PyTorch, native and generated kernels round
        single = thread.run(array.astype, np.float32) if twice else array
        result = thread.run(single.astype, numpy_dtype(dtype))
    else:
        result = thread.run(converted, array, numpy_dtype(dtype))
    return result if array.flags.c_contiguous else arranged(result, array)


KERNELS = {
    "cast": Kernel(cast),
}
