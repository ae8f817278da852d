"""Special functions, which NumPy has no ufuncs for.

The error function in float64 is W. J. Cody's: rational Chebyshev approximations in three ranges of the argument (Mathematics of
Computation 23 (1969), 631-637), within 2 ulp. In float32, where it is evaluated for every element of every gelu, one rational
approximation serves the whole range: minimax in relative error (2e-8) over [0, 3.93], fitted by iterated weighted least squares, within
6 ulp as evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .fused import fused

ROOT_PI_INVERSE = 5.6418958354775628695e-1
SMALL, LARGE, ZERO = 0.46875, 4.0, 26.543
"""Where Cody changes formulas; erfc is 0 from the last on."""

# Cody's coefficients, numerator and denominator (highest power first), for erf(x) / x in x**2 up to SMALL, ...
_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
# ... for erfc(x) * exp(x**2) in x up to LARGE, ...
_MIDDLE = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
        8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip
# ... and for the correction of its asymptotic series in 1 / x**2 beyond.
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3),
)

_BOUND_32 = np.array(3.93, np.float32)
_ONE_32 = np.array(1, np.float32)
_TOP_32 = [np.array(c, np.float32) for c in (2.04206708e-06, 2.84802747e-4, 3.77923956e-3, 5.27891351e-2, 1.90774857e-1, 1.12837915)]
_BOTTOM_32 = [np.array(c, np.float32) for c in (3.80047792e-05, 1.16512814e-3, 1.49966883e-2, 1.14253847e-1, 5.02402536e-1, 1.0)]
"""The float32 fit, highest power of x**2 first."""

BLOCK = 8192
"""Elements at a time, so that the many passes of a polynomial stay in the cache."""


def _horner(coefficients: Sequence[Any], x: Any, out: Any = None) -> Any:
    result = np.multiply(x, coefficients[0], out)
    for coefficient in coefficients[1:-1]:
        np.add(result, coefficient, result)
        np.multiply(result, x, result)
    return np.add(result, coefficients[-1], result)


def _ratio(pair: tuple[Sequence[float], Sequence[float]], x: Any) -> Any:
    result = _horner(pair[0], x)
    return np.true_divide(result, _horner(pair[1], x), result)


def _erfc_tail(y: Any) -> Any:
    """erfc of elements above SMALL."""
    result = np.empty_like(y)
    middle = y <= LARGE
    result[middle] = _ratio(_MIDDLE, y[middle])
    far = np.logical_not(middle)
    z = y[far]
    if z.size:
        inverse = 1 / (z * z)
        result[far] = (ROOT_PI_INVERSE - inverse * _ratio(_FAR, inverse)) / z
    # exp(-y*y) in two factors, the first of an exactly representable square, since the rounding of y*y would be amplified.
    rough = np.trunc(np.minimum(y, ZERO) * 16) / 16
    result *= np.exp(-rough * rough)
    result *= np.exp(-(y - rough) * (y + rough))
    result[y >= ZERO] = 0
    return result


def _by_range(a: Any, complement: bool) -> Any:
    """erf or, if *complement*, erfc of a float64 array."""
    flat = a.ravel()
    y = np.absolute(flat)
    result = np.full_like(flat, np.nan)
    near = y <= SMALL
    x = flat[near]
    value = x * _ratio(_NEAR, x * x)
    result[near] = 1 - value if complement else value
    beyond = y > SMALL
    tail = _erfc_tail(y[beyond])
    negative = flat[beyond] < 0
    if complement:
        result[beyond] = np.where(negative, 2 - tail, tail)
    else:
        result[beyond] = np.copysign(0.5 - tail + 0.5, flat[beyond])
    return result.reshape(a.shape)


def _erf_32(a: Any) -> Any:
    flat = a.ravel()
    result = np.empty_like(flat)
    for start in range(0, flat.size, BLOCK):
        part = result[start : start + BLOCK]
        x = np.minimum(np.maximum(flat[start : start + BLOCK], -_BOUND_32), _BOUND_32)
        square = np.multiply(x, x)
        _horner(_TOP_32, square, part)
        np.multiply(part, x, part)
        np.true_divide(part, _horner(_BOTTOM_32, square, x), part)
        np.minimum(np.maximum(part, -_ONE_32, part), _ONE_32, part)
    return result.reshape(a.shape)


def erf(a: Any) -> Any:
    return _erf_32(a) if a.dtype == np.float32 else _by_range(a, False)


def _erfc(a: Any) -> Any:
    return _by_range(a.astype(np.float64), True).astype(a.dtype)


KERNELS = {"erf": fused(erf), "erfc": fused(_erfc)}
