"""The largest and smallest elements. bfloat16, which NumPy has not, is compared as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.base.dtypes import bfloat16
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet
from .sums import Call, axis_of, dtype_of


def _extreme(reduce: Call) -> Call:
    def kernel(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
        return np.asarray(reduce(array, axis_of(array, dims), None, None, keepdim), order="C")

    return quiet(kernel)


def _extreme_of_all(reduce: Call) -> Call:
    return quiet(lambda array: np.asarray(reduce(array, None)))


def argmax(array: Any, dim: int | None, keepdim: bool) -> Any:
    return np.asarray(array.argmax(dim, keepdims=keepdim))


def argmin(array: Any, dim: int | None, keepdim: bool) -> Any:
    return np.asarray(array.argmin(dim, keepdims=keepdim))


def _with_bfloat16(kernel: Call) -> Kernel:
    """A reduction by comparison; bfloat16, whose comparisons NumPy knows only one by one, goes through float32."""

    def specialize(types: Signature) -> Call:
        if dtype_of(types) is not bfloat16:
            return kernel
        narrow = numpy_dtype(bfloat16)

        def in_float32(array: Any, *params: Any) -> Any:
            result = kernel(array.astype(np.float32), *params)
            return result if result.dtype == np.int64 else result.astype(narrow)

        return in_float32

    return Kernel(kernel, specialize=specialize)


KERNELS = {
    "amax": _with_bfloat16(_extreme(np.maximum.reduce)),
    "amin": _with_bfloat16(_extreme(np.minimum.reduce)),
    "max_all": _with_bfloat16(_extreme_of_all(np.maximum.reduce)),
    "min_all": _with_bfloat16(_extreme_of_all(np.minimum.reduce)),
    "argmax": _with_bfloat16(argmax),
    "argmin": _with_bfloat16(argmin),
}
