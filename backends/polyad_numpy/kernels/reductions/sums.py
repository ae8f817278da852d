"""Reductions. Each kernel knows its dtype, so that a call decides nothing: small reductions are mostly overhead.
Results are row-major, whatever the order of the input, as PyTorch's are.

float16 and bfloat16 accumulate in float32; integers and bool add and multiply in int64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import BOOL, INTEGER, DType
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet

Call = Callable[..., Any]


def dtype_of(types: Signature) -> DType:
    type_ = types[0]
    assert isinstance(type_, TensorType)
    return type_.dtype


def accumulator(dtype: DType) -> Any:
    """The NumPy dtype in which elements of *dtype* add up; None for their own."""
    if dtype.category <= INTEGER:
        return np.int64
    return np.float32 if dtype.itemsize == 2 else None


def axis_of(array: Any, dims: tuple[int, ...]) -> Any:
    # One pass over the memory instead of a loop nest: None where everything is reduced, an int where one dimension is.
    count = len(dims)
    return None if count == array.ndim else dims[0] if count == 1 else dims


def _adding(reduce: Call) -> Call:
    def specialize(types: Signature) -> Call:
        dtype = dtype_of(types)
        wide = accumulator(dtype)
        narrow = numpy_dtype(dtype) if dtype.itemsize == 2 and dtype.category > INTEGER else None

        def kernel(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            return np.asarray(reduce(array, axis_of(array, dims), wide, None, keepdim), None, order="C")

        def in_float32(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            return np.asarray(reduce(array, axis_of(array, dims), wide, None, keepdim)).astype(narrow, order="C")

        if dtype.category == BOOL and reduce is np.add.reduce:
            return _count_true
        return quiet(kernel if narrow is None else in_float32)

    return specialize


def _count_true(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    # count_nonzero without an axis is many times faster than adding.
    if len(dims) == array.ndim:
        total = np.asarray(np.count_nonzero(array), np.int64)
        return total.reshape((1,) * array.ndim) if keepdim else total
    return np.asarray(np.add.reduce(array, axis_of(array, dims), np.int64, None, keepdim), order="C")


def _mean(types: Signature) -> Call:
    dtype = dtype_of(types)
    wide, narrow = accumulator(dtype), numpy_dtype(dtype)
    reduce = np.add.reduce

    def mean(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
        if len(dims) == array.ndim:
            return np.asarray(reduce(array, None, wide, None, keepdim) / array.size, narrow)
        total = reduce(array, axis_of(array, dims), wide, None, keepdim)
        total /= math.prod([array.shape[dim] for dim in dims])
        return np.asarray(total, narrow, order="C")

    return quiet(mean)


KERNELS = {
    "sum": Kernel(np.add.reduce, specialize=_adding(np.add.reduce)),
    "prod": Kernel(np.multiply.reduce, specialize=_adding(np.multiply.reduce)),
    "mean": Kernel(np.mean, specialize=_mean),
}
