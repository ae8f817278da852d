"""Kernels of elementwise functions that are expensive enough to be spread over threads, SciPy's among them.

SciPy is imported when the first kernel that needs it is planned, never with the backend: it takes longer than all of
polyad. Its functions compute float32 in float64, so that those results are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import FLOATING, bfloat16, float16
from polyad.interop.numpy import numpy_dtype

from ...order import arranged
from ...quiet import thread
from ...workers import WORTH_THREADS, spread

Call = Callable[..., Any]
"""``function(*operands, out=None)`` of float32 or float64 arrays, and of numbers beside them."""

WORK = 16
"""What an element costs, in elements of a cheap kernel."""


def spreading(make: Callable[[], Call]) -> Kernel:
    """The kernel of the elementwise function that *make* returns; it is called when the kernel is first planned.

    Half types are computed in float32; everything else but float32 and float64 is declined.
    """

    def specialize(types: Signature) -> Call | None:
        tensors = [entry for entry in types if isinstance(entry, TensorType)]
        dtype = tensors[0].dtype
        if dtype.category != FLOATING:
            return None
        function = _spread(make())
        if dtype in (float16, bfloat16):
            function = _in_float32(function, numpy_dtype(dtype))
        return _arranging(function)

    return Kernel(make, specialize=specialize)


def scipy_ufunc(name: str) -> Kernel:
    """The kernel that the ufunc *name* of ``scipy.special`` is."""

    def make() -> Call:
        from scipy import special

        function: Call = getattr(special, name)
        return function

    return spreading(make)


def _spread(function: Call) -> Call:
    def call(*args: Any) -> Any:
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        first = arrays[0]
        shape = first.shape
        if len(arrays) > 1:
            shape = np.broadcast_shapes(*[array.shape for array in arrays])
        size = 1
        for length in shape:
            size *= length
        if size * WORK < WORTH_THREADS:
            result = np.asarray(thread.run(function, *args))
        else:
            result = np.empty(shape, first.dtype)
            _fill(function, args, result, size)
        return result

    return call


def _arranging(call: Call) -> Call:
    def ordered(*args: Any) -> Any:
        result = call(*args)
        for arg in args:
            if isinstance(arg, np.ndarray) and not arg.flags.c_contiguous:
                return arranged(result, *args)
        return result

    return ordered


def _fill(function: Call, args: tuple[Any, ...], result: Any, size: int) -> None:
    shape = result.shape
    axis = int(np.argmax(shape))
    given = [np.broadcast_to(arg, shape) if isinstance(arg, np.ndarray) else arg for arg in args]

    def work(first: int, end: int) -> None:
        part = (slice(None),) * axis + (slice(first, end),)
        function(*[arg[part] if isinstance(arg, np.ndarray) else arg for arg in given], out=result[part])

    spread(work, shape[axis], cost=size * WORK)


def _in_float32(call: Call, dtype: Any) -> Call:
    def widened(*args: Any) -> Any:
        result = call(*[arg.astype(np.float32) if isinstance(arg, np.ndarray) else arg for arg in args])
        return thread.run(result.astype, dtype)

    return widened
