"""The error function and what is made of it.

In float32, where it is evaluated for every element of every gelu, one polynomial p serves erf: erfc(x) =
exp(-x * p(x)) for x >= 0. It was fitted to -log(erfc(x)) / x on [0, 4] by iterated weighted least squares; beyond, the
last slope continues. As evaluated, erf is within 3 ulp, and erfc is right to 4e-6 of itself as far as it matters beside
1. Everything else is SciPy's, but for tails in float64, where the rounding of x**2 would be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import float64

from ..fused import fused
from .spreading import Call, scipy_ufunc, spreading

TAIL = 2.0
"""From here on erfc and ndtr are computed from erfcx in float64."""

ROOT_HALF = 0.7071067811865476

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
        return _erfc()(x, x)
    result = _log_erfc_32(x.ravel())
    return np.exp(result, result).reshape(x.shape)


def _by_dtype(in_float64: Kernel, otherwise: Kernel) -> Kernel:
    def specialize(types: Signature) -> Any:
        double = any(isinstance(entry, TensorType) and entry.dtype is float64 for entry in types)
        kernel = in_float64 if double else otherwise
        assert kernel.specialize is not None
        return kernel.specialize(types)

    return Kernel(in_float64.function, specialize=specialize)


def _gaussian(x: Any, factor: float) -> Any:
    """exp(factor * x**2) with x in two parts, of which the first has an exact square."""
    rough = np.rint(x * 16) / 16
    return np.exp(rough * rough * factor) * np.exp((x - rough) * (x + rough) * factor)


def _with_tail(name: str, scale: float, sign: float) -> Call:
    """The function *name*, with its vanishing tail, where sign * x > TAIL, as erfcx(scale x) exp(-(scale x)**2)."""
    from scipy import special

    function = getattr(special, name)
    half = 1.0 if scale == 1 else 0.5

    def call(a: Any, out: Any = None) -> Any:
        # Beyond 40 the result is 0 in any case, and infinity has no parts.
        far = (a > TAIL) & (a < 40) if sign > 0 else (a < -TAIL) & (a > -40)
        x = np.absolute(a[far])  # before out, which may be a, is written
        result = np.asarray(function(a, out))
        if x.size:
            result[far] = special.erfcx(x * scale) * _gaussian(x, -half) * half
        return result

    return call


def _erfc() -> Call:
    return _with_tail("erfc", 1.0, 1.0)


def _ndtr() -> Call:
    return _with_tail("ndtr", ROOT_HALF, -1.0)


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
    "special_ndtr": _by_dtype(spreading(_ndtr), scipy_ufunc("ndtr")),
    "special_log_ndtr": scipy_ufunc("log_ndtr"),
    "special_ndtri": scipy_ufunc("ndtri"),
}
