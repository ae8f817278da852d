"""Kinds of arguments: names for annotations that say more than a type.

    def __init__(self, hidden_size: Positive, dropout: Probability = 0.0, mode: Literal["min", "max"] = "min") -> None:

To a type checker a kind is the type that it is made of. The function, if it is one of those that `polyad.arguments`
makes explain themselves, is called with nothing else: a value outside the kind is refused before the call.

The annotation is told by what its name stands for in the function's module, so another module's ``Positive`` is its own
affair.

To add a kind, give it a name here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, TypeAlias, get_args

__all__ = [
    "BelowOne", "Copies", "Count", "Function", "Functions", "Kind", "Layers", "NonNegative", "Nonlinearity",
    "PaddingMode", "Positive", "PositiveNumber", "Probability", "Sizes", "State", "Text", "kind_of",
]  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What the values of a kind are.

    Attributes:
        words: which values they are, after "must be".
        type: the type that they have, in words, after "is not".
        is_of_type, fits: whether a value has that type, and whether it is of the kind.
    """

    words: str
    type: str
    is_of_type: Callable[[Any], bool]
    fits: Callable[[Any], bool]


def _is_int(value: Any) -> bool:
    if isinstance(value, int):
        return True
    try:
        operator.index(value)
    except Exception:  # an object of the user's may raise anything
        return False
    return True


def as_ints(values: Iterable[Any]) -> tuple[int, ...] | None:
    """*values* as ints, NumPy's integers too; None if one is no int, or a bool."""
    try:
        return None if any(isinstance(value, bool) for value in values) else tuple([operator.index(v) for v in values])
    except TypeError:
        return None


def _is_number(value: Any) -> bool:
    if value.__class__ is float or value.__class__ is int:
        return True  # asking an abstract class takes longer
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _are_sizes(value: Any) -> bool:
    several = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return all(map(_is_int, value)) if several else _is_int(value)


def _ints(least: int, most: float = math.inf) -> Kind:
    words = f"an int of at least {least}" if most == math.inf else f"an int from {least} to {most}"
    return Kind(words, "an int", _is_int, lambda value: _is_int(value) and least <= value <= most)


def _choices(*choices: str) -> Kind:
    words = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    return Kind(
        words,
        "a string",
        lambda value: isinstance(value, str),
        lambda value: isinstance(value, str) and value in choices,
    )


def _numbers(words: str, inside: Callable[[Any], bool]) -> Kind:
    return Kind(words, "a number", _is_number, lambda value: _is_number(value) and bool(inside(value)))


def kind_of(annotation: Any) -> Kind | None:
    """The kind that *annotation*, an object and no text, stands for; None if it is another type."""
    return next((one for one in get_args(annotation)[1:] if isinstance(one, Kind)), None)


Positive: TypeAlias = Annotated[int, _ints(1)]
Count: TypeAlias = Annotated[int, _ints(0)]
# No memory holds more layers, and to make them one by one would take days.
Layers: TypeAlias = Annotated[int, _ints(1, 2**16)]
Copies: TypeAlias = Annotated[int, _ints(0, 2**16)]
Probability: TypeAlias = Annotated[float, _numbers("a number from 0 to 1", lambda value: 0 <= value <= 1)]
NonNegative: TypeAlias = Annotated[float, _numbers("a number of at least 0", lambda value: value >= 0)]
PositiveNumber: TypeAlias = Annotated[float, _numbers("a number above 0", lambda value: value > 0)]
BelowOne: TypeAlias = Annotated[float, _numbers("a number below 1", lambda value: value < 1)]
Text: TypeAlias = Annotated[str, Kind("a string", "a string", _is_text, _is_text)]
Function: TypeAlias = Annotated[Callable[..., Any], Kind("a function", "a function", callable, callable)]
PaddingMode: TypeAlias = Annotated[str, _choices("zeros", "reflect", "replicate", "circular")]
Nonlinearity: TypeAlias = Annotated[str, _choices("tanh", "relu")]
State: TypeAlias = Annotated[
    Mapping[str, Any], Kind("a dict such as state_dict() gives", "a dict", _is_mapping, _is_mapping)
]
Sizes: TypeAlias = Annotated[
    int | Sequence[int],
    Kind("an int or a sequence of ints", "an int or a sequence of ints", _are_sizes, _are_sizes),
]
Functions: TypeAlias = Annotated[
    Sequence[Callable[..., Any]],
    Kind(
        "a sequence of functions",
        "a sequence",
        lambda value: isinstance(value, Iterable),
        lambda value: isinstance(value, Iterable) and all(map(callable, value)),
    ),
]
