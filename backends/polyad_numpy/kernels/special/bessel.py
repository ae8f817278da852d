"""Bessel functions and the Airy function: SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...fused import fused
from .spreading import Call, scipy_ufunc, spreading

VANISHED = 110.0
"""From here on Ai is below the smallest number."""


def _airy() -> Call:
    from scipy import special

    def call(a: Any, out: Any = None) -> Any:
        # It computes Ai, its derivative, Bi and its derivative.
        result = np.asarray(special.airy(a)[0])
        # Of large elements, for which it gives nan, the result is 0.
        result[(a > VANISHED) & (a < math.inf)] = 0
        if out is None:
            return result
        np.copyto(out, result)
        return out

    return call


def _spherical_j0(x: Any) -> Any:
    result = np.sin(x)
    np.true_divide(result, x, result)
    wrong = np.isnan(result)
    if wrong.any():
        np.putmask(result, np.equal(x, 0), 1)
        np.putmask(result, np.isinf(x), 0)
    return result


KERNELS = {
    "i0": scipy_ufunc("i0"),
    "special_i0e": scipy_ufunc("i0e"),
    "special_i1": scipy_ufunc("i1"),
    "special_i1e": scipy_ufunc("i1e"),
    "special_modified_bessel_i0": scipy_ufunc("i0"),
    "special_modified_bessel_i1": scipy_ufunc("i1"),
    "special_modified_bessel_k0": scipy_ufunc("k0"),
    "special_modified_bessel_k1": scipy_ufunc("k1"),
    "special_scaled_modified_bessel_k0": scipy_ufunc("k0e"),
    "special_scaled_modified_bessel_k1": scipy_ufunc("k1e"),
    "special_bessel_j0": scipy_ufunc("j0"),
    "special_bessel_j1": scipy_ufunc("j1"),
    "special_bessel_y0": scipy_ufunc("y0"),
    "special_bessel_y1": scipy_ufunc("y1"),
    "special_airy_ai": spreading(_airy),
    "special_spherical_bessel_j0": fused(_spherical_j0),
}
