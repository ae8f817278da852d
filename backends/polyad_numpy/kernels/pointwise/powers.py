"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import INTEGER

from ...fused import fused
from ...ufunc import elementwise, ufunc


def _cube(a: Any, out: Any = None) -> Any:
    return np.multiply(np.multiply(a, a), a, out)


def _rsqrt(a: Any, out: Any = None) -> Any:
    return np.reciprocal(np.sqrt(a), out)


def _inverse_square(a: Any, out: Any = None) -> Any:
    return np.reciprocal(np.multiply(a, a), out)


_EXACT = {2: np.square, 3: _cube}
_BY_EXPONENT = {**_EXACT, 0.5: np.sqrt, -0.5: _rsqrt, -1: np.reciprocal, -2: _inverse_square}
"""Exponents for which there is something many times faster than ``np.power``."""


def _float_power(a: Any, b: Any, out: Any = None) -> Any:
    if isinstance(b, np.ndarray):
        return np.power(a, b, out)
    short = _BY_EXPONENT.get(b)
    if short is not None:
        return short(a, out)
    if a.dtype.kind == "c" and b.imag == 0 and b.real < 0 and float(b.real).is_integer():
        # NumPy's own takes the reciprocal last, of a power that may overflow, which is nan.
        return np.power(np.reciprocal(a), -b, out)
    return np.power(a, b, out)


def _integer_power(a: Any, b: Any, out: Any = None) -> Any:
    """Powers of integers, rounded towards zero where the exponent is negative; NumPy refuses those."""
    if not isinstance(b, np.ndarray):
        return _EXACT.get(b, np.power)(a, out) if b in _EXACT else np.power(a, b, out)
    negative = b < 0
    if not negative.any():
        return np.power(a, b, out)
    result = np.power(a, np.where(negative, b & 1, b))
    # 1 / a**n is a**(n mod 2) for a = 1 and -1, and is less than 1 in magnitude for every other a.
    vanishes = negative & (np.not_equal(a, 1) & np.not_equal(a, -1))
    result = np.where(vanishes, np.zeros((), result.dtype), result)
    return result if out is None else _into(out, result)


def _into(out: Any, result: Any) -> Any:
    out[...] = result
    return out


_floats, _integers = elementwise(_float_power, 2), elementwise(_integer_power, 2)


def _power(types: Signature) -> Any:
    is_integer = next(entry.dtype for entry in types if isinstance(entry, TensorType)).category == INTEGER
    specialize = (_integers if is_integer else _floats).specialize
    assert specialize is not None
    return specialize(types)


def _rsqrt_array(a: Any) -> Any:
    result = np.sqrt(a)
    return np.reciprocal(result, result)


KERNELS = {
    "hypot": ufunc(np.hypot),
    "pow": Kernel(np.power, out=True, specialize=_power),
    "square": ufunc(np.square),
    "sqrt": ufunc(np.sqrt),
    "rsqrt": fused(_rsqrt_array),
    "reciprocal": ufunc(np.reciprocal),
}
