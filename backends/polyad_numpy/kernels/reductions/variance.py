"""Variance and standard deviation."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet
from .sums import Call, axis_of, dtype_of


def _deviations(types: Signature, root: bool = False) -> Call | None:
    """The kernel of the variance, or of its *root*: of the latter, squares may be out of float32's range."""
    dtype = dtype_of(types)
    if dtype.is_complex:
        return None
    narrow = numpy_dtype(dtype)
    wide = np.float32 if dtype.itemsize == 2 else np.float64 if root else narrow

    def var(array: Any, dims: tuple[int, ...], correction: float, keepdim: bool) -> Any:
        array = array.astype(wide, copy=False)
        count = math.prod([array.shape[dim] for dim in dims])
        axis = axis_of(array, dims)
        centred = np.asarray(array - np.add.reduce(array, axis, None, None, True) / array.dtype.type(count))
        np.multiply(centred, centred, centred)
        total = np.add.reduce(centred, axis, None, None, keepdim) / array.dtype.type(max(count - correction, 0))
        return np.asarray(np.sqrt(total) if root else total, narrow, order="C")

    return quiet(var)


KERNELS = {
    "std": Kernel(np.std, specialize=partial(_deviations, root=True)),
    "var": Kernel(np.var, specialize=_deviations),
}
