"""What reductions, and stages over rows, accumulate by: where it begins, how two are combined, how many at once."""

from __future__ import annotations

import math

from ..base.dtypes import BOOL, FLOATING, DType, iinfo
from ..errors import ArgumentError, NotSupported
from .complex_numbers import LOWERED
from .expression import Apply, Expression
from .formulas import is_cheap
from .writer import letter_of

SEGMENT = 1024
"""Elements that are accumulated before they join the total."""

UNROLLED = 4
"""Vectors a step: a chain of additions has a latency of four."""

_FEW = 8
"""Ops on an element that hide no latency."""

COMBINED_BY = {
    "sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum", "any": "maximum", "all": "minimum",
}  # fmt: skip
"""The op that combines two elements, by reduction."""


def identity(reducer: str, dtype: DType) -> bool | int | float:
    """What changes no element: the result of reducing nothing.

    >>> import polyad
    >>> identity("amax", polyad.int8), identity("prod", polyad.float32)
    (-128, 1)
    """
    if reducer in ("sum", "any"):
        return 0
    if reducer in ("prod", "all"):
        return 1
    if dtype.category == BOOL:
        return reducer == "amin"
    if dtype.category == FLOATING:
        return -math.inf if reducer == "amax" else math.inf
    return iinfo(dtype).min if reducer == "amax" else iinfo(dtype).max


def check_reducer(reducer: str, dtype: DType) -> None:
    """Raises ValueError for an unknown reducer, NotImplementedError for one that *dtype* does not have."""
    if reducer not in COMBINED_BY:
        raise ArgumentError(f"codegen: no reduction {reducer}", fix=f"use one of {', '.join(COMBINED_BY)}")
    if dtype.is_complex and COMBINED_BY[reducer] not in LOWERED:
        raise NotSupported(f"codegen: {reducer} of {dtype.name}", fix="reduce the real and imaginary parts")


def symmetric(reducer: str, dtype: DType) -> bool:
    """Whether combining a and b gives the bits of combining b and a: not where zeros have signs, or numbers parts."""
    return dtype.category < FLOATING or (reducer in ("sum", "prod") and not dtype.is_complex)


def unroll_for(expression: Expression) -> int:
    """How many vectors of *expression* a step had better take: several if little is computed, so that an addition
    need not wait for the last; one where that is hidden behind work, and more would only take longer to compile.

    >>> import polyad
    >>> from .expression import Operand, apply
    >>> x = Operand(0, polyad.float32)
    >>> unroll_for(x * x), unroll_for(apply("exp", x))
    (4, 1)
    """
    found, waiting = 0, [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Apply):
            found += 1
            cheap = node.op in ("cast", "where") or is_cheap(node.op, letter_of(node.dtype))
            if node.dtype.is_complex or not cheap or found > _FEW:
                return 1
            waiting.extend(node.arguments)
    return UNROLLED
