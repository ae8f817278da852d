"""Numbers that differ between captures, as expressions of what else differed: sizes of inputs, and of tensors before.

Each of the forms that programs use is tried, the plainest first: a size; a sum with whole coefficients, as of ``cat``;
a product or quotient of sizes, as of ``view``; a size divided and rounded, as of a half or of padding to a multiple;
for floats a constant times a size to some power, or the factor n/(n - 1) of an unbiased variance. An expression must
give the number in every capture. What is divided and rounded has a divisor, a form and a constant to fit a few numbers
by: it is a doubt, for which the function is captured at more sizes, that it must predict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final, NamedTuple, TypeAlias

from ..graph.expressions import Expression, close, product

Row = tuple[int, ...]
LARGEST_DIVISOR: Final = 128
POWERS: Final = (1, -1, 0.5, -0.5, 2, -2)


class Known(NamedTuple):
    """Something whose size in each capture is known."""

    row: Row
    item: Expression


class Fitting:
    """What fits numbers, by the sizes that the symbols of the inputs have in the captures.

    Attributes:
        doubts: for each number that is divided and rounded, all that fits it.

    The first capture is of the example; in the one numbered i only the i-th symbol has another size, as far as there
    are symbols; in further ones all have.
    """

    def __init__(self, symbols: Sequence[Known]) -> None:
        self.symbols = list(symbols)
        self.doubts: list[list[Any]] = []
        self._found: dict[tuple[Any, ...], Any] = {}

    def size(self, row: Row, near: Iterable[Known] = ()) -> Any:
        """The size of a dimension, exactly: a number or an expression without rounding; None if there is none."""
        if len(set(row)) == 1:
            return row[0]
        known = [*self.symbols, *_known_integers(near)]
        for one in known:
            if one.row == row:
                return one.item
        for form in (self._sum, self._monomial):
            item = form(row)
            if item is not None:
                return item
        return _scaled_size(row, known)

    def number(self, row: Row, near: Iterable[Known] = ()) -> Any:
        """An argument that is a whole number; None if there is no expression for it."""
        near = _known_integers(near)
        key = (row, *[one.row for one in near])
        if key not in self._found:
            found = self.size(row, near)
            for form in (_line, self._rounded):
                found = form(row, near) if found is None else found
            self._found[key] = found
        return self._found[key]

    def real(self, row: tuple[float, ...], near: Iterable[Known] = ()) -> Any:
        """An argument that is a float."""
        known = [*self.symbols, *near]
        for one in (*known, *_products(known)):
            if 0 in one.row:
                continue
            for power in POWERS if min(one.row) >= 1 else (1,):
                factor = _constant(row, [size**power for size in one.row])
                if factor is not None:
                    return factor * (one.item if power == 1 else one.item**power)
            unbiased = _unbiased(row, one) if min(one.row) >= 1 else None
            if unbiased is not None:
                return unbiased
        powers = self._powers(row)
        return self._ratio(row, known) if powers is None else powers

    def _ratio(self, row: tuple[float, ...], known: Sequence[Known]) -> Any:
        """One size divided by another."""
        for one in known:
            sizes = tuple([round(number * size) for number, size in zip(row, one.row, strict=True)])
            if all(
                size and close(number, above / size) for number, above, size in zip(row, sizes, one.row, strict=True)
            ):
                item = self.size(sizes, known)
                if item is not None:
                    return item / one.item
        return None

    def _powers(self, row: tuple[float, ...]) -> Any:
        """A constant times powers of symbols."""
        item: Any = None
        rest = list(row)
        for after, symbol in enumerate(self.symbols, 1):
            if close(row[after], row[0]):
                continue
            size, first = symbol.row[after], symbol.row[0]
            power = next((one for one in POWERS if close(row[after] / row[0], (size / first) ** one)), None)
            if power is None:
                return None
            rest = [left / size**power for left, size in zip(rest, symbol.row, strict=True)]
            term = symbol.item if power == 1 else symbol.item**power
            item = term if item is None else item * term
        factor = _constant(row, [left / one for left, one in zip(row, rest, strict=True)]) if item is not None else None
        return None if factor is None else item if factor == 1 else factor * item

    # ---------------------------------------------------------------------------------------------------------- forms

    def _sum(self, row: Row) -> Any:
        """A sum of symbols with whole coefficients, and a constant."""
        total: Any = 0
        rest = list(row)
        for after, symbol in enumerate(self.symbols, 1):
            slope = Fraction(row[after] - row[0], symbol.row[after] - symbol.row[0])
            if slope.denominator != 1:
                return None
            if slope:
                rest = [left - int(slope) * size for left, size in zip(rest, symbol.row, strict=True)]
                total = product((int(slope), symbol.item)) + total
        return total + rest[0] if len(set(rest)) == 1 else None

    def _monomial(self, row: Row) -> Any:
        """A constant times powers of symbols, which may be negative."""
        if min(row) <= 0:
            return None
        above: list[Any] = []
        below: list[Any] = []
        rest = [Fraction(size) for size in row]
        for after, symbol in enumerate(self.symbols, 1):
            power = _power(Fraction(row[after], row[0]), Fraction(symbol.row[after], symbol.row[0]))
            if power is None:
                return None
            rest = [left / Fraction(size) ** power for left, size in zip(rest, symbol.row, strict=True)]
            (above if power > 0 else below).extend([symbol.item] * abs(power))
        if len(set(rest)) != 1:
            return None
        result = product((rest[0].numerator, *above))
        divisor = product((rest[0].denominator, *below))
        return result if divisor == 1 else result // divisor

    def _rounded(self, row: Row, near: Sequence[Known]) -> Any:
        """A size, or a product of two, divided by a constant and rounded, or what is left of that."""
        known = [*self.symbols, *near]
        for among, forms in ((known, (*_QUOTIENTS, *_REMAINDERS)), (_products(known, alike=2), _QUOTIENTS)):
            found = [
                form(one.item, divisor) + difference
                for one in among
                for divisor in range(2, LARGEST_DIVISOR + 1)
                for form in forms
                if (difference := _difference(row, [form(size, divisor) for size in one.row])) is not None
                and (form in _QUOTIENTS or difference >= 0 or min(row) < 0)  # a remainder may be 0
            ]
            if found:
                self.doubts.append(found)
                return found[0]
        return None


_Form: TypeAlias = Callable[[Any, int], Any]
_QUOTIENTS: Final[tuple[_Form, ...]] = (
    lambda size, divisor: size // divisor,
    lambda size, divisor: (size + (divisor - 1)) // divisor,
    lambda size, divisor: size // divisor * divisor,
    lambda size, divisor: (size + (divisor - 1)) // divisor * divisor,
    lambda size, divisor: size - size // divisor,
)
_REMAINDERS: Final[tuple[_Form, ...]] = (
    lambda size, divisor: size % divisor,
    lambda size, divisor: (0 - size) % divisor,
)


def _known_integers(known: Iterable[Known]) -> list[Known]:
    """What is a whole number, of what is known."""
    return [one for one in known if all(type(size) is int for size in one.row)]


def _difference(row: Row, values: list[int]) -> int | None:
    """What a row has more than *values*, if that is the same everywhere and the values are not."""
    found = {size - value for size, value in zip(row, values, strict=True)}
    return found.pop() if len(found) == 1 and len(set(values)) > 1 else None


def _unbiased(row: tuple[float, ...], known: Known) -> Any:
    """``factor * n / (n - 1)``, where n is what is known times a whole number."""
    (one, *_), sizes = row, known.row
    at = next((at for at, size in enumerate(sizes) if size != sizes[0] and row[at] != one), None)
    if at is None:
        return None
    times = round((one / sizes[0] - row[at] / sizes[at]) / (one - row[at]))
    if times < 1 or times * min(sizes) < 2:
        return None
    factor = _constant(row, [times * size / (times * size - 1) for size in sizes])
    count = product((times, known.item))
    return None if factor is None else factor * count / (count - 1)


def _power(ratio: Fraction, of: Fraction) -> int | None:
    """Which power of *of* a ratio is."""
    return next((power for power in range(-3, 5) if of**power == ratio), None)


def _products(known: Sequence[Known], alike: int = 4) -> list[Known]:
    """What is known, multiplied by two, three and four, with no factor more than *alike* times."""
    few = list({one.row: one for one in known}.values())[:8]
    return [
        Known(
            tuple(map(math.prod, zip(*[one.row for one in chosen], strict=True))), product(one.item for one in chosen)
        )
        for count in (2, 3, 4)
        for chosen in combinations_with_replacement(few, count)
        if count <= alike or len(set(chosen)) == count
    ]


def _line(row: Row, known: Sequence[Known]) -> Any:
    """A size of a tensor before times a whole number, and a constant; but two points make no line."""
    for one in known:
        points = dict(zip(one.row, row, strict=True))
        if len(points) < 2 or any(points[size] != number for size, number in zip(one.row, row, strict=True)):
            continue
        (size, number), (other_size, other), *_ = points.items()
        slope = Fraction(other - number, other_size - size)
        constant = number - slope * size
        straight = all(slope * size + constant == number for size, number in points.items())
        if slope.denominator == 1 and straight and (len(points) > 2 or slope == 1 or not constant):
            return product((int(slope), one.item)) + int(constant)
    return None


def _scaled_size(row: Row, known: Sequence[Known]) -> Any:
    """A constant times the product of sizes of a tensor before."""
    if min(row) <= 0:
        return None
    for one in _products(known):
        factors = {Fraction(size, other) for size, other in zip(row, one.row, strict=True) if other}
        if len(factors) == 1 and 0 not in one.row:
            factor = factors.pop()
            result = product((factor.numerator, one.item))
            return result if factor.denominator == 1 else result // factor.denominator
    return None


def _constant(row: tuple[float, ...], sizes: list[float]) -> float | None:
    """By which *sizes* are multiplied to give *row*; the shortest number that does."""
    if not sizes or 0 in sizes:
        return None
    for digits in range(1, 18):
        factor = float(f"{row[0] / sizes[0]:.{digits}g}")
        if all(close(factor * size, number) for size, number in zip(sizes, row, strict=True)):
            return factor
    return None
