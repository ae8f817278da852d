"""Kinds of arguments: names for annotations that say more than a type.

    def __init__(self, hidden_size: Positive, dropout: Probability = 0.0, mode: Literal["min", "max"] = "min") -> None:

To a type checker a kind is the type that it is made of. The function, if it is one of those that `polyad.arguments`
makes explain themselves, is called with nothing else: a value outside the kind is refused before the call.

To add a kind, give the type a name here and add its row to `KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

__all__ = [
    "Copies", "Count", "Functions", "KINDS", "Kind", "Layers", "NonNegative", "Nonlinearity", "PaddingMode", "Positive",
    "PositiveNumber", "Probability", "Sizes", "State",
]  # fmt: skip

Positive: TypeAlias = int
Count: TypeAlias = int
Layers: TypeAlias = int
Copies: TypeAlias = int
Probability: TypeAlias = float
NonNegative: TypeAlias = float
PositiveNumber: TypeAlias = float
Functions: TypeAlias = Sequence[Callable[..., Any]]
PaddingMode: TypeAlias = str
Nonlinearity: TypeAlias = str
State: TypeAlias = Mapping[str, Any]
Sizes: TypeAlias = int | Sequence[int]


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
    return isinstance(value, int) or (not isinstance(value, float) and hasattr(type(value), "__index__"))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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


KINDS: dict[str, Kind] = {
    "Positive": _ints(1),
    "Count": _ints(0),
    # No memory holds more layers, and to make them one by one would take days.
    "Layers": _ints(1, 2**16),
    "Copies": _ints(0, 2**16),
    "Probability": _numbers("a number from 0 to 1", lambda value: 0 <= value <= 1),
    "NonNegative": _numbers("a number of at least 0", lambda value: value >= 0),
    "PositiveNumber": _numbers("a number above 0", lambda value: value > 0),
    "PaddingMode": _choices("zeros", "reflect", "replicate", "circular"),
    "Nonlinearity": _choices("tanh", "relu"),
    "State": Kind("a dict such as state_dict() gives", "a dict", _is_mapping, _is_mapping),
    "Sizes": Kind(
        "an int or a sequence of ints",
        "an int or a sequence of ints",
        _are_sizes,
        _are_sizes,
    ),
    "Functions": Kind(
        "a sequence of functions",
        "a sequence",
        lambda value: isinstance(value, Iterable),
        lambda value: isinstance(value, Iterable) and all(map(callable, value)),
    ),
}
"""What an annotation's name means."""
