"""The error function and its relatives.

In float32, where it is evaluated for every element of every gelu, a single polynomial p serves erf: erfc(x) =
exp(-x * p(x)) for x >= 0. It was fitted to -log(erfc(x)) / x on [0, 4] by iterated weighted least squares; beyond, the
last slope continues. As evaluated, erf is within 3 ulp, and erfc is right to 4e-6 of itself as far as it matters beside
1. Everything else is SciPy's; in float64, the tail of erfc is freed of the rounding of x**2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import float64

from ...fused import fused
from .spreading import Call, scipy_ufunc, spreading

_END_32 = np.array(4, np.float32)
_FIT_32 = [
    np.array(coefficient, np.float32)
    for coefficient in (
        -9.54195115e-08, 2.43960036e-06, -2.77371985e-05, 0.000183408142, -0.000758794249, 0.00180063349,
        -0.000235161898, -0.0191346487, 0.102777147, 0.636619152, 1.12837918,
    )
]  # fmt: skip
"""p, highest power first."""

BLOCK = 8192
"""Elements at a time, so that the many passes of a polynomial stay in the cache."""


def _horner(coefficients: Sequence[Any], x: Any, out: Any = None) -> Any:
    result = np.multiply(x, coefficients[0], out)
    for coefficient in coefficients[1:-1]:
        np.add(result, coefficient, result)
        np.multiply(result, x, result)
    return np.add(result, coefficients[-1], result)


def _log_erfc_32(x: Any) -> Any:
    """log(erfc(x)) of a flat float32 array without negative elements, written over it."""
    slope = np.empty_like(x[:BLOCK])
    for start in range(0, x.size, BLOCK):
        part = x[start : start + BLOCK]
        p = _horner(_FIT_32, np.minimum(part, _END_32), slope[: part.size])
        np.negative(p, p)
        np.multiply(part, p, part)
    return x


def _erf_32(a: Any) -> Any:
    result = _log_erfc_32(np.absolute(a).ravel())
    np.expm1(result, result)
    return np.copysign(result.reshape(a.shape), a)


def erfc_of_magnitude(x: Any) -> Any:
    """erfc of elements that are not negative; may write over them."""
    if x.dtype != np.float32:
        return _erfc()(x)
    result = _log_erfc_32(x.ravel())
    return np.exp(result, result).reshape(x.shape)


def _by_dtype(in_float64: Kernel, otherwise: Kernel) -> Kernel:
    def specialize(types: Signature) -> Any:
        double = any(isinstance(entry, TensorType) and entry.dtype is float64 for entry in types)
        kernel = in_float64 if double else otherwise
        assert kernel.specialize is not None
        return kernel.specialize(types)

    return Kernel(in_float64.function, specialize=specialize)


def _lost_by_squaring(x: Any) -> Any:
    """x**2 less what float64 makes of it, for elements below 2**500 (Dekker, Numerische Mathematik 18 (1971))."""
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    low = x - high
    square = np.multiply(x, x)
    return low * low + ((high * high - square) + high * low * 2)


def _erfc() -> Call:
    from scipy import special

    def call(a: Any, out: Any = None) -> Any:
        # SciPy's is exp(-x**2) times a quotient from 1 on: mended by what the exponent lost in the square's rounding.
        # That is nothing for the two bounds, to which everything is brought where there is no such factor.
        x = np.clip(a, 1.0, 27.0)
        result = np.asarray(special.erfc(a, out))
        if not result.flags.c_contiguous:
            return np.subtract(result, result * _lost_by_squaring(x), result)
        flat, bounded = result.reshape(-1), x.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            np.subtract(part, part * _lost_by_squaring(bounded[start : start + BLOCK]), part)
        return result

    return call


def _erfinv() -> Call:
    from scipy import special

    def call(a: Any, out: Any = None) -> Any:
        # SciPy's loses the sign of 0.
        result = special.erfinv(a, out)
        return np.copysign(result, a, out=out)

    return call


KERNELS = {
    "erf": _by_dtype(scipy_ufunc("erf"), fused(_erf_32)),
    "erfc": _by_dtype(spreading(_erfc), scipy_ufunc("erfc")),
    "erfinv": spreading(_erfinv),
    "special_erfcx": scipy_ufunc("erfcx"),
    "special_ndtr": scipy_ufunc("ndtr"),
    "special_log_ndtr": scipy_ufunc("log_ndtr"),
    "special_ndtri": scipy_ufunc("ndtri"),
}
