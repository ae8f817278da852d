"""Bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.base.dtypes import BOOL, FLOATING, INTEGER, DType, bfloat16, iinfo
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet
from .where import _ordered, keep

CLIPPED = 4096
"""Number of elements from which clamp calls NumPy's clip."""


def above(a: Any, low: float, out: Any = None) -> Any:
    """The larger of floats and a number; NumPy's clip is several times faster than its maximum with a number."""
    return a.clip(np.asarray(low, a.dtype), np.asarray(math.inf, a.dtype), out=out)


def below(a: Any, high: float, out: Any = None) -> Any:
    """The smaller of floats and a number."""
    return a.clip(np.asarray(-math.inf, a.dtype), np.asarray(high, a.dtype), out=out)


def _second_wins(function: np.ufunc, a: Any, bound: Any, out: Any) -> Any:
    """*function*, of equal zeros with the bound's sign; NumPy's loop of float16 alone takes the first operand's."""
    return function(bound, a, out=out) if bound.dtype == np.float16 else function(a, bound, out=out)


def clamp(types: Signature) -> Any:
    entry = types[0]
    dtype = numpy_dtype(entry.dtype)
    if entry.dtype.category == BOOL:
        return None

    # NumPy's clip is several times faster than its maximum and minimum with a number, and slower to call.
    least, most = (-math.inf, math.inf) if dtype.kind == "f" else _limits(entry.dtype)

    def bounded(a: Any, low: Any, high: Any, out: Any) -> Any:
        if a.size >= CLIPPED and least is not None:
            low = np.asarray(least if low is None else low, dtype)
            return a.clip(low, np.asarray(most if high is None else high, dtype), out=out)
        if low is not None:
            a = _second_wins(np.maximum, a, np.asarray(low, dtype), out)
        return a if high is None else _second_wins(np.minimum, a, np.asarray(high, dtype), out)

    if entry.dtype.category == FLOATING:
        bounded = quiet(bounded)

    def kernel(a: Any, low: Any, high: Any, out: Any = None) -> Any:
        result = bounded(a, low, high, out)
        return result if out is not None else _ordered(np.asarray(result), a)

    return kernel


def _limits(dtype: DType) -> tuple[int | None, int | None]:
    if dtype.category != INTEGER:
        return None, None
    limits = iinfo(dtype)
    return limits.min, limits.max


def _clamp_backward(types: Signature) -> Any:
    zero = np.zeros((), numpy_dtype(types[0].dtype))

    def kernel(grad: Any, a: Any, low: Any, high: Any) -> Any:
        if low is None or high is None:
            return np.asarray(keep(grad, np.asarray(a >= low if high is None else a <= high), zero))
        inside = np.asarray(a >= low)
        return np.asarray(keep(grad, np.logical_and(inside, a <= high), zero))

    return quiet(kernel) if types[0].dtype is bfloat16 else kernel


KERNELS = {
    "clamp": Kernel(np.clip, out=True, specialize=clamp),
    "clamp_backward": Kernel(_clamp_backward, specialize=_clamp_backward),
}
