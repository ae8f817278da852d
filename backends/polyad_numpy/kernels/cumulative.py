"""Running reductions along a dimension. Results are row-major, as PyTorch's are."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import bfloat16
from polyad.interop.numpy import numpy_dtype

from .quiet import quiet
from .reduction import accumulator


def _running(accumulate: Any) -> Kernel:
    def specialize(types: Signature) -> Any:
        kind = types[0]
        assert isinstance(kind, TensorType)
        own = numpy_dtype(kind.dtype)
        wide = accumulator(kind.dtype) or own
        if wide is np.float32:
            return quiet(lambda array, dim: accumulate(array.astype(np.float32, order="C"), dim).astype(own))
        return quiet(lambda array, dim: accumulate(array, dim, wide, np.empty(array.shape, wide)))

    return Kernel(accumulate, specialize=specialize)


def _running_extreme(accumulate: Any, at_least: Any) -> Kernel:
    def kernel(array: Any, dim: int) -> Any:
        values = accumulate(array, dim, None, np.empty(array.shape, array.dtype))
        holds = at_least(array, values)
        if array.dtype.kind == "f":
            np.logical_or(holds, array != array, holds)
        shape = [1] * array.ndim
        shape[dim] = -1
        # The positions where the extreme was met again; the largest so far is where it was met last.
        indices = np.multiply(holds, np.arange(array.shape[dim]).reshape(shape))
        return values, np.maximum.accumulate(indices, dim, None, indices)

    def in_float32(array: Any, dim: int) -> Any:
        values, indices = kernel(array.astype(np.float32), dim)
        return values.astype(array.dtype), indices

    def specialize(types: Signature) -> Any:
        kind = types[0]
        assert isinstance(kind, TensorType)
        return quiet(in_float32 if kind.dtype is bfloat16 else kernel)

    return Kernel(kernel, specialize=specialize)


def _log_sum_exp(types: Signature) -> Any:
    kind = types[0]
    assert isinstance(kind, TensorType)
    if kind.dtype.is_complex:
        return None  # NumPy adds real logarithms only
    own = numpy_dtype(kind.dtype)
    if kind.dtype.itemsize == 2:
        return quiet(lambda array, dim: np.logaddexp.accumulate(array.astype(np.float32, order="C"), dim).astype(own))
    return quiet(lambda array, dim: np.logaddexp.accumulate(array, dim, None, np.empty(array.shape, own)))


KERNELS = {
    "cumsum": _running(np.add.accumulate),
    "cumprod": _running(np.multiply.accumulate),
    "cummax": _running_extreme(np.maximum.accumulate, np.greater_equal),
    "cummin": _running_extreme(np.minimum.accumulate, np.less_equal),
    "logcumsumexp": Kernel(np.logaddexp.accumulate, specialize=_log_sum_exp),
}
