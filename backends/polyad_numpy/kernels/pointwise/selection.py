"""Choosing between elements.

NumPy's ``where`` branches on every element, which costs more than ten times the copy where the condition is
irregular. From a few thousand elements on, the choice is therefore computed on the bits: exact for every value, nan and
infinities included, and at the speed of a multiplication.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import BOOL, INTEGER, DType, bfloat16, iinfo
from polyad.interop.numpy import numpy_dtype

from ...fused import fused
from ...order import arranged
from ...quiet import quiet, thread
from ...ufunc import ufunc

_BITS = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
MASKED, CHOSEN = 1024, 8192
"""Numbers of elements from which `keep` and `choose` work on bits."""
CLIPPED = 4096
"""Number of elements from which clamp calls NumPy's clip."""


def above(a: Any, low: float, out: Any = None) -> Any:
    """The larger of floats and a number; NumPy's clip is several times faster than its maximum with a number."""
    return a.clip(np.asarray(low, a.dtype), np.asarray(math.inf, a.dtype), out=out)


def below(a: Any, high: float, out: Any = None) -> Any:
    """The smaller of floats and a number."""
    return a.clip(np.asarray(-math.inf, a.dtype), np.asarray(high, a.dtype), out=out)


def keep(a: Any, mask: Any, zero: Any) -> Any:
    """*a* where *mask*, 0 elsewhere; *zero* is a 0-d array of a's dtype."""
    bits = _BITS.get(a.dtype.itemsize)
    if mask.size < MASKED or bits is None or a.dtype.kind == "b":
        return np.where(mask, a, zero)
    return np.multiply(a.view(bits), mask.view(np.int8)).view(a.dtype)


def choose(mask: Any, a: Any, b: Any) -> Any:
    """*a* where *mask*, else *b*; all of one shape or broadcasting, a and b of one dtype."""
    bits = _BITS.get(a.dtype.itemsize)
    if mask.size < CHOSEN or bits is None:
        return np.where(mask, a, b)
    a, b = a.view(bits), b.view(bits)
    difference = np.bitwise_xor(a, b)
    if difference.shape != mask.shape:
        return np.where(mask, a, b)
    np.multiply(difference, mask.view(np.int8), difference)
    return np.bitwise_xor(difference, b, difference)


def _ordered(result: Any, *operands: Any) -> Any:
    for operand in operands:
        if isinstance(operand, np.ndarray) and not operand.flags.c_contiguous:
            return arranged(result, *operands)
    return result


def _is_negative(number: Any) -> bool:
    """Whether a zero is -0.0, in its real or imaginary part."""
    parts = (number.real, number.imag) if isinstance(number, complex) else (number,)
    return any(math.copysign(1.0, part) < 0 for part in parts)


def _where(types: Signature) -> Any:
    entry = next(entry for entry in types[1:] if isinstance(entry, TensorType))
    dtype = numpy_dtype(entry.dtype)
    zero = np.zeros((), dtype)

    def kernel(mask: Any, a: Any, b: Any) -> Any:
        if not isinstance(b, np.ndarray):
            if b == 0 and not _is_negative(b):
                return _ordered(np.asarray(keep(a, mask, zero)), mask, a)
            b = thread.run(np.asarray, b, dtype)
        elif not isinstance(a, np.ndarray):
            if a == 0 and not _is_negative(a):
                return _ordered(np.asarray(keep(b, np.logical_not(mask), zero)), mask, b)
            a = thread.run(np.asarray, a, dtype)
        return _ordered(np.asarray(choose(mask, a, b).view(dtype)), mask, a, b)

    return kernel


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
            a = np.maximum(a, np.asarray(low, dtype), out=out)
        return a if high is None else np.minimum(a, np.asarray(high, dtype), out=out)

    if entry.dtype is bfloat16:
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


def _share(grad: Any, loses: Any, ties: Any) -> Any:
    if ties.any():
        grad = choose(ties, np.multiply(grad, 0.5), grad).view(grad.dtype)
    return keep(grad, np.logical_not(loses), np.zeros((), grad.dtype))


@quiet
def _nan_to_num(a: Any, nan: float, posinf: float, neginf: float) -> Any:
    result = a.copy()
    if not np.isfinite(a).all():
        np.putmask(result, np.isnan(a), np.asarray(nan, a.dtype))
        np.putmask(result, np.equal(a, np.inf), np.asarray(posinf, a.dtype))
        np.putmask(result, np.equal(a, -np.inf), np.asarray(neginf, a.dtype))
    return _ordered(result, a)


KERNELS = {
    "where": Kernel(quiet(np.where), specialize=_where),
    "maximum": ufunc(np.maximum, warns=False),
    "minimum": ufunc(np.minimum, warns=False),
    "fmax": ufunc(np.fmax, warns=False),
    "fmin": ufunc(np.fmin, warns=False),
    "clamp": Kernel(np.clip, out=True, specialize=clamp),
    "clamp_backward": Kernel(_clamp_backward, specialize=_clamp_backward),
    "nan_to_num": Kernel(_nan_to_num),
    "share": fused(_share, integers=True),
}
