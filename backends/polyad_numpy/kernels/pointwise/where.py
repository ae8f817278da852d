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
from polyad.interop.numpy import numpy_dtype

from ...order import arranged
from ...quiet import quiet, thread

_BITS = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
MASKED, CHOSEN = 1024, 8192
"""Numbers of elements from which `keep` and `choose` work on bits."""


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
    own, other = a.view(bits), b.view(bits)
    difference = np.bitwise_xor(own, other)
    if difference.shape != mask.shape:
        return np.where(mask, a, b)
    np.multiply(difference, mask.view(np.int8), difference)
    return np.bitwise_xor(difference, other, difference).view(a.dtype)


def _ordered(result: Any, *operands: Any) -> Any:
    for operand in operands:
        if isinstance(operand, np.ndarray) and not operand.flags.c_contiguous:
            return arranged(result, *operands)
    return result


def _is_negative(number: Any) -> bool:
    """Whether a zero is -0.0, in either part."""
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
        return _ordered(np.asarray(choose(mask, a, b)), mask, a, b)

    return kernel


KERNELS = {
    "where": Kernel(quiet(np.where), specialize=_where),
}
