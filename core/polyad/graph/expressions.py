"""Sizes that are computed from symbols: what stands in a general graph where a graph of one example has a number.

A `SizeRef` names a `polyad.graph.Symbol`. An `Operation` is Python's arithmetic of what is known of the symbols, a
`Repeat` a tuple of so many equal items. Whoever reads a graph may evaluate an expression, or walk it.

>>> from polyad.graph.expressions import SizeRef
>>> half = (SizeRef("height") + 1) // 2
>>> str(half), half.evaluate({"height": 5}), sorted(half.names)
('(height + 1)//2', 3, ['height'])
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from .structure import replace

Size: TypeAlias = "int | Expression"

FUNCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "/": operator.truediv,
    "**": operator.pow,
}
"""What an `Operation` may do, by Python's sign for it."""
MOST_ITEMS: Final = 1 << 16
PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2, "/": 2, "**": 3}


class Expression:
    """A number, or a tuple of numbers, that follows from sizes."""

    __slots__ = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the symbols in it."""
        raise NotImplementedError

    def evaluate(self, sizes: Mapping[str, int]) -> Any:
        """What it is for these sizes of the symbols."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return (
            self
            if other == 0
            else Operation("+", self, other)
            if other.__class__ is not int or other > 0
            else Operation("-", self, -other)
        )

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self + -other if other.__class__ is int else Operation("-", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return Operation("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return other * self if other.__class__ is int else Operation("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self if other == 1 else Operation("*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self if other == 1 else Operation("//", self, other)

    def __mod__(self, other: Any) -> Expression:
        return Operation("%", self, other)

    def __truediv__(self, other: Any) -> Expression:
        return Operation("/", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return Operation("/", other, self)

    def __pow__(self, other: Any) -> Expression:
        return Operation("**", self, other)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, repr=False)
class SizeRef(Expression):
    """The size of the symbol of this name."""

    name: str

    @property
    def names(self) -> frozenset[str]:
        """The name."""
        return frozenset((self.name,))

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The size."""
        return sizes[self.name]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, repr=False)
class Operation(Expression):
    """Python's operation *sign* of two numbers or expressions."""

    sign: str
    left: Any
    right: Any

    @property
    def names(self) -> frozenset[str]:
        """The symbols on both sides."""
        return names_of((self.left, self.right))

    def evaluate(self, sizes: Mapping[str, int]) -> Any:
        """The result of the operation."""
        return FUNCTIONS[self.sign](evaluated(self.left, sizes), evaluated(self.right, sizes))

    def __str__(self) -> str:
        level = PRECEDENCE[self.sign]
        left, right = self._side(self.left, level), self._side(self.right, level + 1)
        # A sign without a space behind it would be read as the beginning of -1, or of %value.
        return f"{left} {self.sign} {right}" if self.sign in "+-%" else f"{left}{self.sign}{right}"

    @staticmethod
    def _side(item: Any, level: int) -> str:
        if isinstance(item, Operation):
            return f"({item})" if PRECEDENCE[item.sign] < level or item.sign == "**" else str(item)
        return f"({item!r})" if not isinstance(item, Expression) and item < 0 else str(item)


@dataclass(frozen=True, slots=True, repr=False)
class Repeat(Expression):
    """A tuple of *times* equal items."""

    item: Any
    times: Any

    @property
    def names(self) -> frozenset[str]:
        """The symbols of item and count."""
        return names_of((self.item, self.times))

    def evaluate(self, sizes: Mapping[str, int]) -> tuple[Any, ...]:
        """The tuple. Raises OverflowError for more than 65,536 items."""
        times = evaluated(self.times, sizes)
        if not 0 <= times <= MOST_ITEMS:
            raise OverflowError(f"{times} items are none or too many")
        return tuple([evaluated(self.item, sizes)] * times)

    def __str__(self) -> str:
        return f"repeat({self.item}, {self.times})"


def evaluated(structure: Any, sizes: Mapping[str, int]) -> Any:
    """*structure* with numbers in the place of its expressions."""
    return replace(structure, Expression, lambda item: item.evaluate(sizes))


def names_of(structure: Any) -> frozenset[str]:
    """The names of the symbols in the expressions of *structure*."""
    found: set[str] = set()

    def note(item: Expression) -> Expression:
        found.update(item.names)
        return item

    replace(structure, Expression, note)
    return frozenset(found)


def product(factors: Iterable[Any]) -> Any:
    """The product of numbers and expressions, the number first."""
    number, result = 1, None
    for factor in factors:
        if isinstance(factor, Expression):
            result = factor if result is None else result * factor
        else:
            number *= factor
    return number if result is None else 0 if number == 0 else result if number == 1 else number * result


def solved(item: Any, result: int) -> tuple[str, int] | None:
    """The symbol of which *item* is an affine expression with whole coefficients, and the size for which it is
    *result*; None if it is no such expression, or for no whole size.
    """
    while isinstance(item, Operation):
        left, right, sign = item.left, item.right, item.sign
        if sign == "*" and left.__class__ is int and left:
            if result % left:
                return None
            item, result = right, result // left
        elif sign in "+-" and right.__class__ is int:
            item, result = left, result - right if sign == "+" else result + right
        else:
            return None
    return (item.name, result) if isinstance(item, SizeRef) else None


def close(one: float, other: float) -> bool:
    """Whether two numbers differ by no more than a few roundings."""
    return math.isclose(one, other, rel_tol=1e-14, abs_tol=0.0)
