"""Functions of matrices."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet

_SINGLE = ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660))
_DOUBLE = (
    (3, 1.495585217958292e-2),
    (5, 2.539398330063230e-1),
    (7, 9.504178996162932e-1),
    (9, 2.097847961257068),
    (13, 5.371920351148152),
)
_DEGREES = {"f": _SINGLE, "F": _SINGLE, "d": _DOUBLE, "D": _DOUBLE}
"""Degrees of the Pade approximant and the 1-norms up to which each is exact to rounding (Higham 2005, table 2.3)."""


@functools.cache
def _coefficients(degree: int) -> list[float]:
    """Of the numerator of the [degree/degree] Pade approximant of exp, from the constant term up."""
    f = math.factorial
    return [f(2 * degree - k) * f(degree) / (f(2 * degree) * f(k) * f(degree - k)) for k in range(degree + 1)]


@quiet
def matrix_exp(a: Any) -> Any:
    if not a.size:
        return np.zeros(a.shape, a.dtype)
    norm = np.abs(a).sum(-2).max(-1)
    finite = np.isfinite(norm)
    if finite.all():
        return _exp_of_finite(a, norm)
    result = np.full(a.shape, np.nan, a.dtype)
    if finite.ndim and finite.any():
        result[finite] = _exp_of_finite(a[finite], norm[finite])
    return result


def _exp_of_finite(a: Any, norm: Any) -> Any:
    """Scaling and squaring with the degree that the largest norm of the batch asks for."""
    degrees = _DEGREES[a.dtype.char]
    largest = float(norm.max())
    degree = next((m for m, limit in degrees if largest <= limit), degrees[-1][0])
    squarings: Any = 0
    if largest > degrees[-1][1]:
        ratio = np.maximum(norm / degrees[-1][1], 1)
        squarings = np.ceil(np.log2(ratio)).astype(int)
        a = a * np.exp2(-squarings).astype(a.real.dtype)[..., None, None]
    x = _pade(a, degree)
    for k in range(int(np.max(squarings))):
        squared = np.matmul(x, x)
        x = squared if not np.ndim(squarings) else np.where((squarings > k)[..., None, None], squared, x)
    return x


def _pade(a: Any, degree: int) -> Any:
    c = _coefficients(degree)
    powers = [np.matmul(a, a)]
    while len(powers) < min(degree // 2, 3):
        powers.append(np.matmul(powers[-1], powers[0]))
    odd, even = _combined(powers, c[3:8:2]), _combined(powers, c[2:7:2])
    if degree > 7:
        # Higham's eq. (2.9): the sixth power is factored out of the high half.
        odd += np.matmul(powers[2], _combined(powers, c[9::2]))
        even += np.matmul(powers[2], _combined(powers, c[8::2]))
    diagonal = np.arange(a.shape[-1])
    odd[..., diagonal, diagonal] += c[1]
    even[..., diagonal, diagonal] += c[0]
    odd = np.matmul(a, odd)
    return np.linalg.solve(even - odd, even + odd)


def _combined(powers: list[Any], coefficients: list[float]) -> Any:
    total = powers[0] * coefficients[0]
    for power, coefficient in zip(powers[1:], coefficients[1:], strict=False):
        total += power * coefficient
    return total


KERNELS = {
    "linalg_matrix_exp": Kernel(matrix_exp),
}
