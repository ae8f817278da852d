"""What models do with sizes while PyTorch's compiler traces them: here sizes are numbers, and this is arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .arguments import explain
from .compatibility.absent import stand_in

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
]

SymBool = stand_in("SymBool")
SymFloat = stand_in("SymFloat")
SymInt = stand_in("SymInt")


def sym_float(a: float) -> float:
    """*a* as a float.

    >>> import polyad
    >>> polyad.sym_float(2)
    2.0
    """
    return float(a)


def sym_int(a: float) -> int:
    """*a* without its fraction.

    >>> import polyad
    >>> polyad.sym_int(-2.5)
    -2
    """
    whole: int = math.trunc(a)
    return whole


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """*t* if *b*, else *f*.

    >>> import polyad
    >>> polyad.sym_ite(True, 1, 2)
    1
    """
    return t if b else f


def sym_max(a: float, b: float) -> float:
    """The larger number; a float if one of them is.

    >>> import polyad
    >>> polyad.sym_max(3, 2.0)
    3.0
    """
    return _one_type(max, a, b)


def sym_min(a: float, b: float) -> float:
    """The smaller number; a float if one of them is.

    >>> import polyad
    >>> polyad.sym_min(3, 2)
    2
    """
    return _one_type(min, a, b)


def _one_type(choose: Callable[[float, float], float], a: float, b: float) -> float:
    chosen = choose(a, b)
    return float(chosen) if float in (type(a), type(b)) else chosen


def sym_not(a: Any) -> bool:
    """``not a``.

    >>> import polyad
    >>> polyad.sym_not(True)
    False
    """
    return not a


def sym_sum(args: Iterable[float]) -> float:
    """The sum of numbers.

    >>> import polyad
    >>> polyad.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


explain(globals())
