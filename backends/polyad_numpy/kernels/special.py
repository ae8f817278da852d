"""Special functions, which NumPy has no ufuncs for.

The error function in float64 is W. J. Cody's: rational Chebyshev approximations in three ranges of the argument
(Mathematics of Computation 23 (1969), 631-637); as evaluated here, erf is within 5 ulp and erfc within 8. In float32,
where it is evaluated for every element of every gelu, one polynomial p serves all: erfc(x) = exp(-x * p(x)) for x >=
0. It was fitted to -log(erfc(x)) / x on [0, 4] by iterated weighted least squares; beyond, the last slope continues.
As evaluated, erf is within 3 ulp, and erfc is right to 4e-6 of itself as far as it matters beside 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .fused import fused

ROOT_PI_INVERSE = 5.6418958354775628695e-1
SMALL, LARGE, ZERO = 0.46875, 4.0, 27.3
"""Where Cody changes formulas; erfc is 0 from the last on."""

# Cody's coefficients, numerator and denominator (highest power first), for erf(x) / x in x**2 up to SMALL, ...
_NEAR = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
# ... for erfc(x) * exp(x**2) in x up to LARGE, ...
_MIDDLE = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
        2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip
# ... and for the correction of its asymptotic series in 1 / x**2 beyond.
_FAR = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)

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
    # exp(-y*y) in two factors, the first of an exactly representable square: the rounding of y*y would be amplified.
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


def _log_erfc_32(x: Any) -> Any:
    """log(erfc(x)) of a flat float32 array without negative elements, written over it."""
    slope = np.empty_like(x[:BLOCK])
    for start in range(0, x.size, BLOCK):
        part = x[start : start + BLOCK]
        p = _horner(_FIT_32, np.minimum(part, _END_32), slope[: part.size])
        np.negative(p, p)
        np.multiply(part, p, part)
    return x


def erf(a: Any) -> Any:
    """The error function of a float32 or float64 array."""
    if a.dtype != np.float32:
        return _by_range(a, False)
    result = _log_erfc_32(np.absolute(a).ravel())
    np.expm1(result, result)
    return np.copysign(result.reshape(a.shape), a)


def erfc_of_magnitude(x: Any) -> Any:
    """erfc of elements that are not negative; may write over them."""
    if x.dtype != np.float32:
        return _by_range(x, True)
    result = _log_erfc_32(x.ravel())
    return np.exp(result, result).reshape(x.shape)


def _erfc(a: Any) -> Any:
    return _by_range(a.astype(np.float64), True).astype(a.dtype)


KERNELS = {"erf": fused(erf), "erfc": fused(_erfc)}
