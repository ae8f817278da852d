"""Fused kernels: a plain NumPy function that serves signatures which it was not written for.

`fused` takes a function of dimensioned float32 or float64 arrays that returns a new array, and makes a kernel of it:
half types are computed in float32 and rounded once, 0-d operands are seen as arrays of one element, floating point
warnings are off, and the result's order in memory is PyTorch's. Complex (and, unless asked for, integer) signatures are
declined, so that core runs the op's decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import BOOL, FLOATING, bfloat16, float16
from polyad.interop.numpy import numpy_dtype

from .order import arranged
from .quiet import quiet, thread

Call = Callable[..., Any]


ONE = {np.dtype(dtype): np.ones((), dtype) for dtype in (np.float32, np.float64)}
"""1 as an array of each dtype that a fused function may meet: NumPy takes as long to convert Python's as to subtract it
from a few elements."""


def fused(function: Call, *, integers: bool = False, halves: bool = False, elementwise: bool = True) -> Kernel:
    """The kernel that *function* is; *integers*: it takes integers too; *halves*: it needs no detour for half types.

    The result of an *elementwise* function is `arranged`, that of any other function row-major.
    """
    call = quiet(function)

    def specialize(types: Signature) -> Call | None:
        tensors = [entry for entry in types if isinstance(entry, TensorType)]
        dtype = tensors[0].dtype
        if dtype.is_complex or dtype.category == BOOL or (dtype.category < FLOATING and not integers):
            return None
        kernel = call
        if dtype in (float16, bfloat16) and not halves:
            kernel = _in_float32(kernel, numpy_dtype(dtype))
        if all(entry.zero_dim for entry in tensors):
            return _of_one_element(kernel)
        return _arranging(kernel) if elementwise else _row_major(kernel)

    return Kernel(call, specialize=specialize)


def _arranging(call: Call) -> Call:
    def ordered(*args: Any) -> Any:
        result = call(*args)
        for arg in args:
            if isinstance(arg, np.ndarray) and not arg.flags.c_contiguous:
                return arranged(result, *args)
        return result

    return ordered


def _row_major(call: Call) -> Call:
    def ordered(*args: Any) -> Any:
        return np.ascontiguousarray(call(*args))

    return ordered


def _in_float32(call: Call, dtype: Any) -> Call:
    def widened(*args: Any) -> Any:
        result = call(*[arg.astype(np.float32) if isinstance(arg, np.ndarray) else arg for arg in args])
        return thread.run(result.astype, dtype)  # which may overflow

    return widened


def _of_one_element(call: Call) -> Call:
    def dimensioned(*args: Any) -> Any:
        return call(*[arg.reshape(1) if isinstance(arg, np.ndarray) else arg for arg in args]).reshape(())

    return dimensioned
