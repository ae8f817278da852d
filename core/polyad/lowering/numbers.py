"""Numbers that only a call knows, as a body sees them while it is lowered.

A body computes with its parameters: ``alpha * 2``, ``if beta == 1``, ``math.sqrt(delta)``. A lowered form of the body
must know what of that holds for every call and what for this one. So a `DeferredNumber` stands for each number:

- arithmetic with numbers gives another deferred number, which each call computes anew, on the host;
- what meets a tensor becomes a scalar argument of the kernel;
- a comparison is decided by the present call's numbers and noted in the `Guards`: the lowered form serves calls for
  which the same answers hold;
- whatever needs the number itself (``math.sqrt``, ``range``, ``int``) gets it, and the form serves that number alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

Number = bool | int | float | complex
Read = Callable[[Sequence[Any]], Any]
"""From a call's arguments to a number."""


class Guards:
    """What must hold of a call's arguments for a lowered form to serve it."""

    def __init__(self) -> None:
        self._wanted: list[tuple[Read, Any]] = []

    def note(self, read: Read, answer: Any) -> Any:
        """*answer*, which every call that this form serves must give."""
        self._wanted.append((read, answer))
        return answer

    def hold(self, args: Sequence[Any]) -> bool:
        """Whether the form serves a call with *args*."""
        return all(_same(read(args), answer) for read, answer in self._wanted)


def _same(found: Any, answer: Any) -> bool:
    """Equal, a NaN with a NaN; 0.0 and -0.0 differ."""
    if answer.__class__ is complex:
        return repr(found) == repr(answer)
    if found == answer:
        return bool(answer) or answer.__class__ is not float or math.copysign(1, found) == math.copysign(1, answer)
    return bool(found != found and answer != answer)


class DeferredNumber:
    """A number that follows from a call's arguments. To ``isinstance`` it is of its number's class.

    Attributes:
        value: what it is in the call for which the body is lowered.
        read: computes it from any call's arguments.
    """

    __slots__ = ("_guards", "read", "value")

    def __init__(self, value: Number, read: Read, guards: Guards) -> None:
        self.value = value
        self.read = read
        self._guards = guards

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    def __repr__(self) -> str:
        return f"DeferredNumber({self.value!r})"

    def through(self, function: Callable[[Any], Number]) -> DeferredNumber:
        """The number that *function* makes of this one."""
        read = self.read
        return DeferredNumber(function(self.value), lambda args: function(read(args)), self._guards)

    def fixed(self) -> Number:
        """The number itself; the lowered form serves no other."""
        fixed: Number = self._guards.note(self.read, self.value)
        return fixed

    def __float__(self) -> float:
        return float(self.fixed())  # type: ignore[arg-type]

    def __int__(self) -> int:
        return int(self.fixed())  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return complex(self.fixed())

    def __index__(self) -> int:
        return operator.index(self.fixed())  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self.fixed())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.fixed(), digits)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        read = self.read
        return bool(self._guards.note(lambda args: bool(read(args)), bool(self.value)))


def fixed(value: Any) -> Any:
    """*value* with the number itself for each deferred one, also in tuples and lists.

    For what is kept for calls to come: a deferred number equals what it stands for, and would be found by others.
    """
    if type(value) is DeferredNumber:
        return value.fixed()
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([fixed(item) for item in value])
    return value


def _unary(function: Callable[[Any], Any]) -> Any:
    return lambda self: self.through(function)


def _combined(function: Callable[[Any, Any], Any], reflected: bool) -> Any:
    def method(self: DeferredNumber, other: Any) -> Any:
        if not isinstance(other, (int, float, complex)):
            return NotImplemented
        first, second = (_read(other), self.read) if reflected else (self.read, _read(other))
        left, right = (_value(other), self.value) if reflected else (self.value, _value(other))
        return DeferredNumber(function(left, right), lambda args: function(first(args), second(args)), self._guards)

    return method


def _compared(function: Callable[[Any, Any], bool]) -> Any:
    def method(self: DeferredNumber, other: Any) -> Any:
        if not isinstance(other, (int, float, complex)):
            return NotImplemented
        first, second = self.read, _read(other)
        answer = function(self.value, _value(other))
        return self._guards.note(lambda args: function(first(args), second(args)), answer)

    return method


def _read(number: Any) -> Read:
    return number.read if type(number) is DeferredNumber else lambda args: number


def _value(number: Any) -> Any:
    return number.value if type(number) is DeferredNumber else number


for _name in ("neg", "pos", "abs"):
    setattr(DeferredNumber, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(DeferredNumber, f"__{_name}__", _combined(getattr(operator, _name), reflected=False))
    setattr(DeferredNumber, f"__r{_name}__", _combined(getattr(operator, _name), reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(DeferredNumber, f"__{_name}__", _compared(getattr(operator, _name)))
