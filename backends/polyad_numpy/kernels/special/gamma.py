"""The gamma function's logarithm, its derivatives and integrals, and the zeta function: SciPy's, with edges mended."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.tables.special import LGAMMA_1, LGAMMA_2, Series

from .spreading import Call, scipy_ufunc, spreading

TINY = 1e-300
"""Below this gamma(a) is 1 / a."""

NEAR = 0.15
"""How near a zero lgamma is evaluated by an expansion."""

SMALL_FACTORIAL = 20
"""Up to here n! is exact in float64 and overflows no product."""


def _sum(series: Series, x: Any) -> Any:
    middle, half = (series.low + series.high) / 2, (series.high - series.low) / 2
    return np.polynomial.chebyshev.chebval((x - middle) / half, series.coefficients)


def _lgamma() -> Call:
    from scipy import special

    def call(a: Any, out: Any = None) -> Any:
        result = np.asarray(special.gammaln(a, out))
        # SciPy gives inf for the smallest numbers, and -inf for -inf.
        tiny = (np.absolute(a) < TINY) & (a != 0)
        if tiny.any():
            result[tiny] = -np.log(np.absolute(a[tiny]))
        result[a == -math.inf] = math.inf
        if a.dtype == np.float64:
            # SciPy's error is absolute around the zeros at 1 and 2.
            near = np.absolute(np.absolute(a - 1.5) - 0.5) < NEAR
            if near.any():
                x = a[near]
                factor = np.where(x < 1.5, _sum(LGAMMA_1, x), _sum(LGAMMA_2, x))
                result[near] = (x - 1) * (x - 2) * factor + 0.0  # no -0.0 at the zeros
        return result

    return call


def _zeta() -> Call:
    from scipy import special

    # The public function takes an argument or two; with two it adds a check that costs a pass.
    function = special._ufuncs._zeta

    def call(s: Any, q: Any, out: Any = None) -> Any:
        result = np.asarray(function(s, q, out))
        # SciPy looks for poles before nan, takes -inf for a pole, and knows no limit for infinite exponents.
        result[np.isnan(s) | ~np.greater(q, -math.inf)] = math.nan
        result[np.equal(s, math.inf) & np.greater(q, 1)] = 0
        return result

    return call


def _polygamma() -> Call:
    zeta = _zeta()

    def call(a: Any, n: int, out: Any = None) -> Any:
        result = np.asarray(zeta(float(n + 1), a, out))
        # Large factorials in two factors: they alone may be infinite where the product is not.
        factor = float(math.factorial(n)) if n <= SMALL_FACTORIAL else math.exp(math.lgamma(n + 1) / 2)
        for scale in (factor,) if n <= SMALL_FACTORIAL else (factor, factor):
            np.multiply(result, scale, result)
        return result if n % 2 else np.negative(result, result)

    return call


KERNELS = {
    "lgamma": spreading(_lgamma),
    "digamma": scipy_ufunc("psi"),
    "polygamma": spreading(_polygamma),
    "igamma": scipy_ufunc("gammainc"),
    "igammac": scipy_ufunc("gammaincc"),
    "special_zeta": spreading(_zeta),
}
