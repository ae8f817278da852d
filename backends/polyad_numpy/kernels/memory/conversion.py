"""Casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import DType
from polyad.interop.numpy import numpy_dtype

from ...order import arranged


def cast(array: Any, dtype: DType) -> Any:
    if array.dtype.kind == "c" and not dtype.is_complex and dtype.name != "bool":
        array = array.real
    with np.errstate(all="ignore"):
        if array.dtype == np.float64 and dtype.name == "float16":
            # Rounded twice, as PyTorch, native and generated kernels do.
            result = array.astype(np.float32).astype(np.float16)
        else:
            result = array.astype(numpy_dtype(dtype))
    return result if array.flags.c_contiguous else arranged(result, array)


KERNELS = {
    "cast": Kernel(cast),
}
