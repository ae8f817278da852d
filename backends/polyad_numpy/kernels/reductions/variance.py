"""Variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet
from .sums import Call, axis_of, dtype_of


def _variance(types: Signature) -> Call | None:
    dtype = dtype_of(types)
    if dtype.is_complex:
        return None
    narrow = numpy_dtype(dtype)
    half = dtype.itemsize == 2

    def var(array: Any, dims: tuple[int, ...], correction: float, keepdim: bool) -> Any:
        if half:
            array = array.astype(np.float32)
        count = math.prod([array.shape[dim] for dim in dims])
        axis = axis_of(array, dims)
        centred = np.asarray(array - np.add.reduce(array, axis, None, None, True) / array.dtype.type(count))
        np.multiply(centred, centred, centred)
        total = np.add.reduce(centred, axis, None, None, keepdim)
        return np.asarray(total / array.dtype.type(max(count - correction, 0)), narrow, order="C")

    return quiet(var)


KERNELS = {
    "var": Kernel(np.var, specialize=_variance),
}
