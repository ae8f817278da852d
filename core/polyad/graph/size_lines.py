"""The line of a symbol: ``batch  size  # dim 0 of %x, captured 4, 5, 9, from 2 to 64``, with ``%x by data`` for
one that follows from data, or ``# item of %x by data, captured 0.5, 7.25, from 0``; and expressions of sizes.

An expression stands where a number may: ``(2*batch, height//2 + 1)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .expressions import PRECEDENCE, Expression, Operation, Repeat, SizeRef
from .values import Symbol

if TYPE_CHECKING:
    from .parsing import _Line

IS_SYMBOL: Final = re.compile(r"\s*[A-Za-z_]\w*\s+size\s+#", re.ASCII)
HIGHEST_POWER: Final = 4
MOST_CAPTURES: Final = 100
MOST_OPERATIONS: Final = 32


class Said(NamedTuple):
    """What a line says of a symbol; *label* is that of the value off which it is read."""

    name: str
    dim: int
    label: str
    captured: tuple[Any, ...]
    least: int
    most: int | None
    data: bool

    def symbol(self, value: int) -> Symbol:
        """The symbol, which is read off value number *value*."""
        return Symbol(self.name, value, self.dim, self.captured, self.least, self.most, self.data)


def written_symbol(symbol: Symbol, label: str) -> str:
    """What stands behind the symbol's name."""
    whose = f"{label} by data" if symbol.data else label
    which = "item" if symbol.dim < 0 else f"dim {symbol.dim}"
    text = f"# {which} of {whose}, captured {', '.join(map(str, symbol.captured))}, from {symbol.least}"
    return text if symbol.most is None else f"{text} to {symbol.most}"


def read_symbol(line: _Line, size: Callable[[_Line], int], number: Callable[[_Line], Any]) -> Said:
    """What *line* says. Raises ValueError for a line that says no symbol."""
    name = line.of_kind("name", "a symbol")
    line.take("size")
    line.take("#")
    dim = -1
    if not line.skip("item"):
        line.take("dim")
        dim = size(line)
    line.take("of")
    label = line.of_kind("value", "a value")
    data = line.skip("by")
    if data:
        line.take("data")
    line.take(",")
    line.take("captured")
    read = size if dim >= 0 or not data else number
    captured = [read(line)]
    while line.skip(",") and line.token != "from":
        captured.append(read(line))
    if len(captured) > MOST_CAPTURES:
        raise ValueError(f"it has {len(captured)} captures, and {MOST_CAPTURES} at most")
    line.take("from")
    least, most = size(line), None
    if line.skip("to"):
        most = size(line)
    return Said(name, dim, label, tuple(captured), least, most, data)


def read_operations(line: _Line, left: Any, literal: Callable[[_Line], Any], lowest: int = 1) -> Any:
    """The expression that begins with *left*, if a sign follows; of signs that bind as *lowest* or stronger."""
    count = 0
    while line.kind == "mark" and PRECEDENCE.get(line.token, 0) >= lowest:
        line.deeper()
        count += 1
        if count > MOST_OPERATIONS:
            raise ValueError(f"an expression has more than {MOST_OPERATIONS} operations in a row")
        sign = line.step()
        right = read_operations(line, literal(line), literal, PRECEDENCE[sign] + 1)
        for side in (left, right):
            if not isinstance(side, Expression) and type(side) not in (int, float):
                raise ValueError(f"{sign} has numbers on both sides")
        if sign == "**" and (isinstance(right, Expression) or abs(right) > HIGHEST_POWER):
            raise ValueError(f"a power is a number up to {HIGHEST_POWER}")
        left = Operation(sign, left, right)
        line.depth -= 1
    return left


def repeated(item: Any, times: Any) -> Repeat:
    """What ``repeat(item, times)`` says. Raises ValueError for what is no number of items."""
    if not isinstance(times, Expression) or not (type(item) is int or isinstance(item, (SizeRef, Operation))):
        raise ValueError("repeat has a size, and an expression for the number of items")
    return Repeat(item, times)
