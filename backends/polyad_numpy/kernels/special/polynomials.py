"""Orthogonal polynomials of a single degree: the recurrences block by block, so that their steps stay in the cache."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.errors import OptionError
from polyad.tables.special import HERMITE_LIMIT, HIGH_DEGREE, HIGHEST_DEGREE

from .error_functions import BLOCK
from .spreading import spreading

Step = Callable[[int, Any, Any, Any, Any], None]
"""``step(k, x, p, before, room)`` writes the polynomial of degree k + 1 over *before*, that of degree k - 1."""


def _chebyshev(k: int, twice: Any, p: Any, before: Any, room: Any) -> None:
    np.multiply(twice, p, room)
    np.subtract(room, before, before)


def _hermite(k: int, x: Any, p: Any, before: Any, room: Any, factor: int) -> None:
    np.multiply(before, factor * k, before)
    np.multiply(x, p, room)
    np.subtract(room, before, before)


def _laguerre(k: int, x: Any, p: Any, before: Any, room: Any) -> None:
    np.subtract(2 * k + 1, x, room)
    np.multiply(room, p, room)
    np.multiply(before, k, before)
    np.subtract(room, before, before)
    np.true_divide(before, k + 1, before)


def _legendre(k: int, x: Any, p: Any, before: Any, room: Any) -> None:
    np.multiply(x, 2 * k + 1, room)
    np.multiply(room, p, room)
    np.multiply(before, k, before)
    np.subtract(room, before, before)
    np.true_divide(before, k + 1, before)


def _recurrence(x: Any, degree: int, low: Any, high: Any, step: Step) -> Any:
    """The polynomial of *degree* >= 1 from those of degrees 0 and 1, which are written over."""
    room = np.empty_like(low)
    for k in range(1, degree):
        step(k, x, high, low, room)
        low, high = high, low
    return high


def _in_blocks(evaluate: Callable[[Any, int], Any], limit: bool) -> Any:
    """``call(x, n, out)`` of a function of a block and a degree; *limit*: it is nan beyond `HERMITE_LIMIT`."""

    def call(x: Any, n: float, out: Any = None) -> Any:
        result = np.empty_like(x) if out is None else out
        degree = int(n) if math.isfinite(n) else None
        if not limit and degree is not None and degree > HIGHEST_DEGREE:
            raise OptionError(
                f"orthogonal polynomials: the degree {degree} is above {HIGHEST_DEGREE}", fix="give a degree up to that"
            )
        if degree is None or (limit and degree > HERMITE_LIMIT[x.dtype == np.float64]):
            result[...] = math.nan
        elif degree <= 0:
            result[...] = 1.0 if degree == 0 else 0.0
        elif x.flags.c_contiguous and result.flags.c_contiguous:
            flat, target = x.reshape(-1), result.reshape(-1)
            for start in range(0, flat.size, BLOCK):
                target[start : start + BLOCK] = evaluate(flat[start : start + BLOCK], degree)
        else:
            result[...] = evaluate(x, degree)
        return result

    return call


def _of_one_degree(evaluate: Callable[[Any, int], Any], limit: bool = False) -> Kernel:
    """The kernel for a tensor and a number; tensors of degrees are left to the decomposition."""
    kernel = spreading(lambda: _in_blocks(evaluate, limit))

    def specialize(types: Signature) -> Any:
        assert kernel.specialize is not None
        takes = isinstance(types[0], TensorType) and types[1] in (bool, int, float)
        return kernel.specialize(types) if takes else None

    return Kernel(kernel.function, specialize=specialize)


_FIRST: dict[str, float] = {"t": 0.0, "u": -0.0, "v": -1.0, "w": 1.0}  # -0.0 leaves the sign of zeros
"""What the polynomial of degree 1 has beside 2 x; that of the first kind is x."""


def _by_angle(letter: str, y: Any, degree: int) -> Any:
    angle = np.arccos(np.clip(y, -1, 1))
    if letter == "t":
        return np.cos(angle * degree)
    if letter == "u":
        return np.sin(angle * (degree + 1)) / np.sin(angle)
    numerator, denominator = (np.cos, np.cos) if letter == "v" else (np.sin, np.sin)
    return numerator(angle * (degree + 0.5)) / denominator(angle * 0.5)


def _chebyshev_of(letter: str, shifted: bool) -> Callable[[Any, int], Any]:
    def evaluate(x: Any, degree: int) -> Any:
        y = x * 2 - 1 if shifted else x
        inside = np.absolute(y) < 1 if degree > HIGH_DEGREE else None
        if inside is not None and inside.all():
            return _by_angle(letter, y, degree)
        twice = y * 2
        high = +y if letter == "t" else twice + _FIRST[letter]
        result = _recurrence(twice, degree, np.ones_like(y), high, _chebyshev)
        if inside is not None:
            result[inside] = _by_angle(letter, y[inside], degree)
        return result

    return evaluate


def _hermite_of(factor: int) -> Callable[[Any, int], Any]:
    step: Any = functools.partial(_hermite, factor=factor)

    def evaluate(x: Any, degree: int) -> Any:
        scaled = x * factor
        return _recurrence(scaled, degree, np.ones_like(x), scaled.copy(), step)

    return evaluate


def _laguerre_of(x: Any, degree: int) -> Any:
    return _recurrence(x, degree, np.ones_like(x), 1 - x, _laguerre)


def _legendre_of(x: Any, degree: int) -> Any:
    return _recurrence(x, degree, np.ones_like(x), x.copy(), _legendre)


KERNELS = {
    **{
        f"special_{'shifted_' if shifted else ''}chebyshev_polynomial_{letter}": _of_one_degree(
            _chebyshev_of(letter, shifted)
        )
        for letter in "tuvw"
        for shifted in (False, True)
    },
    "special_hermite_polynomial_h": _of_one_degree(_hermite_of(2), limit=True),
    "special_hermite_polynomial_he": _of_one_degree(_hermite_of(1), limit=True),
    "special_laguerre_polynomial_l": _of_one_degree(_laguerre_of),
    "special_legendre_polynomial_p": _of_one_degree(_legendre_of),
}
