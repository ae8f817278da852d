"""References for functions that NumPy has not: mpmath's, with 30 digits, made functions of arrays; and samples of them.

Independent of every kernel: mpmath computes from definitions in arithmetic of its own. It is slow, so that samples have
few elements; those of an interval look at what an approximation does there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np

from polyad.base.dtypes import bfloat16, float32, float64, int64

from .patterns import Draw, draw
from .sample import Sample, as_float

FEW = (int64, bfloat16, float32, float64)
"""Dtypes that say something: a conversion, a detour, and both that are computed in."""

DIGITS = 30


def precise(function: Callable[..., Any], at: Mapping[Any, float] | None = None) -> Callable[..., Any]:
    """*function* of mpmath's numbers as a function of arrays (and numbers) that broadcast, with float64 results.

    *at* says what the result is for an argument (or a tuple of arguments) that the function does not take; of nan it is
    nan, and so is what is not real. Results are kept, since finite differences ask for most of them again and again.
    """
    known = {key if isinstance(key, tuple) else (key,): value for key, value in (at or {}).items()}

    @functools.lru_cache(4096)
    def one(*args: float) -> float:
        if any(math.isnan(arg) for arg in args):
            return math.nan
        if args in known:
            return known[args]
        with mpmath.workdps(DIGITS):
            value = function(*[mpmath.mpf(arg) for arg in args])
            if isinstance(value, mpmath.mpc):
                return float(value.real) if value.imag == 0 else math.nan
            return float(value)

    vectorized = np.vectorize(one, otypes=[np.float64])

    def reference(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return vectorized(*[np.asarray(arg, np.float64) for arg in args])

    return reference


def few(
    op: str, reference: Callable[..., Any], *, draw: Draw = draw, special: bool = True, **sample: Any
) -> list[Sample]:
    """An elementwise function of one tensor: two dimensions, with its gradient, none, and no elements."""
    sample = {"dtypes": FEW, "result": as_float} | sample
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (draw(make, shape),),
            reference=reference,
            special=special,
            **sample,
        )
        for name, shape in {"2-d": (3, 4), "0-d": (), "empty": (0, 3)}.items()
    ]


def spans(op: str, reference: Callable[..., Any], steps: int, **bounds: Any) -> list[Sample]:
    """Many elements between two numbers, for each keyword ``name=(low, high)``; a third entry is its ``magnitude``."""
    return [
        Sample(
            op=op,
            name=name.replace("_", " "),
            inputs=lambda make, low=low, high=high: (make((61,), low, high),),
            reference=reference,
            dtypes=(float32, float64),
            steps=steps,
            magnitude=magnitude[0] if magnitude else None,
        )
        for name, (low, high, *magnitude) in bounds.items()
    ]
