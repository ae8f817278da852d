"""Calls with numbers first, as PyTorch once wrote them: ``add(x, 2, y)`` for ``x + 2 * y``.

A function that understands them takes more positional arguments than it has operands, and asks `factors_first` when
some came. Its factors have names of their own in the calls of today, ``alpha`` and the like, so a call is turned into
one of these.
"""

from __future__ import annotations

from typing import Any

from ..base.state import warn_once
from ..errors import ArgumentTypeError
from ..tensor import Tensor

__all__ = ["OLDER", "factors_first"]

OLDER = """\
    if older_:
        return factors_first_(call_, factors_, ({operands},), older_, {{{keywords}, **others_}}, defaults_)
"""
"""The lines of a generated function that look for such a call; ``older_`` is what came after the operands."""


def factors_first(
    call: Any,
    factors: tuple[str, ...],
    given: tuple[Any, ...],
    older: tuple[Any, ...],
    keywords: dict[str, Any],
    defaults: dict[str, Any],
) -> Any:
    """Call again with the *factors* by name that stand among the arguments by position: those *given* in the places of
    the operands, and *older*, what came after them.

    A single factor stands behind the first operand; of two, one may stand before it, or both behind it, as in calls of
    a method. Raises TypeError for anything else.
    """
    count, values = len(given), [*given, *older]
    before = next((at for at, value in enumerate(values) if isinstance(value, Tensor)), 0)
    numbers, first, rest = values[:before], values[before], values[before + 1 :]
    numbers += rest[: len(rest) + 1 - count]
    operands = [first, *rest[len(rest) + 1 - count :]]
    named = {name: value for name, value in keywords.items() if value is not defaults.get(name, keywords)}
    if (
        len(operands) != count
        or len(numbers) > len(factors)
        or (before and len(factors) == 1)
        or any(isinstance(number, Tensor) and (number.ndim or number.requires_grad) for number in numbers)
        or not named.keys().isdisjoint(factors)
    ):
        raise ArgumentTypeError(
            f"{call.__name__}: takes {count} arguments by position, {len(values)} were given",
            fix=f"give {' and '.join(factors)} by name",
        )
    warn_once(
        "factors",
        call.__name__,
        f"{call.__name__}: numbers among the operands are deprecated; give {' and '.join(factors)} by name",
        UserWarning,
    )
    return call(*operands, **dict(zip(factors, numbers)), **named)
