"""Sizes as ONNX's values: what a graph says of them by symbols, computed from the shapes of its values.

A size is a list of one number (int64) in the model, since shapes are put together from such lists. A symbol is read off
the value that has it; arithmetic of symbols is that of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polyad as torch
from polyad.graph.expressions import Expression, Operation, Repeat, SizeRef, evaluated, names_of
from polyad.graph.sizes import symbols_of_inputs

if TYPE_CHECKING:
    from .translating import Translator


class Sizes:
    """The sizes of one translation; those of the outer one are known in a body of control flow too."""

    def __init__(self, to: Translator) -> None:
        self.to = to
        self.known: dict[Any, Any] = {}
        self.symbols = {symbol.name: symbol for symbol in to.graph.symbols}
        given = symbols_of_inputs(to.graph)
        rows = zip(*[symbol.captured for symbol in given], strict=True)
        self.captured = [dict(zip([symbol.name for symbol in given], row, strict=True)) for row in rows]

    def same(self, one: Any, other: Any) -> bool:
        """Whether two sizes are the same for all sizes that were captured."""
        if one == other:
            return True
        names = names_of((one, other))
        known = self.rows()
        if not known or not names <= known[0].keys():
            return False
        return all(evaluated(one, row) == evaluated(other, row) for row in known)

    def rows(self) -> list[dict[str, int]]:
        """The captured sizes of the inputs' symbols."""
        outer = self.to.outer
        return self.captured or ([] if outer is None else outer.lengths.rows())

    def value(self, size: Any) -> Any:
        """A size as a list of one number."""
        if not isinstance(size, Expression):
            return self.to.ints(size)
        found = self._find(size)
        if found is None:
            before, self.to.node = self.to.node, None
            try:
                found = self.known[size] = self._made(size)
            finally:
                self.to.node = before
        return found

    def _find(self, size: Any) -> Any:
        outer = self.to.outer
        return self.known.get(size) if size in self.known or outer is None else outer.lengths._find(size)

    def _made(self, size: Expression) -> Any:
        if isinstance(size, SizeRef):
            return self.read(size.name)
        if isinstance(size, Operation) and size.sign not in ("/", "**"):
            return self._operation(size.sign, self.value(size.left), self.value(size.right))
        raise NotImplementedError(f"a size {size}")

    def _operation(self, sign: str, left: Any, right: Any) -> Any:
        to = self.to
        if sign == "//":  # the operator rounds towards 0
            return to.op("Div", to.op("Sub", left, to.op("Mod", left, right)), right)
        return to.op({"+": "Add", "-": "Sub", "*": "Mul", "%": "Mod"}[sign], left, right)

    def read(self, name: str) -> Any:
        """The size of a symbol, off the value that has it."""
        to: Translator = self.to
        if name not in self.symbols:
            assert to.outer is not None
            return to.outer.lengths.value(SizeRef(name))
        symbol = self.symbols[name]
        if symbol.value not in to.known:
            from .translating import unsizable  # which is of this module

            raise unsizable("what needs the sizes of its own result", to.makers[symbol.value])
        whole = to.known[symbol.value]
        if symbol.dim < 0:
            return to.cast(to.op("Reshape", whole, to.ints(1)), torch.int64)
        item = to.graph.values[symbol.value].sizes[symbol.dim]
        if to.opset >= 15:
            found = to.op("Shape", whole, start=symbol.dim, end=symbol.dim + 1)
        else:
            found = to.op("Gather", to.op("Shape", whole), to.ints(symbol.dim), axis=0)
        return self._solved(item, found)

    def _solved(self, item: Any, found: Any) -> Any:
        """The symbol in *item*, an affine expression of it, whose value is *found*."""
        to = self.to
        while isinstance(item, Operation):
            if item.sign == "*":
                found, item = to.op("Div", found, to.ints(item.left)), item.right
            else:
                found = to.op("Sub" if item.sign == "+" else "Add", found, to.ints(item.right))
                item = item.left
        return found

    def list(self, sizes: Sequence[Any]) -> Any:
        """A shape, or another list of sizes."""
        if isinstance(sizes, Repeat):
            return self.to.op("Expand", self.value(sizes.item), self.value(sizes.times))
        if not any(isinstance(size, Expression) for size in sizes):
            return self.to.ints(*sizes)
        parts = [self.value(size) for size in sizes]
        return self.to.op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]

    def number(self, number: Any, dtype: Any) -> Any:
        """A number that may follow from sizes, as a value of no dimension."""
        to = self.to
        if not isinstance(number, Expression):
            return to.constant(number, dtype)
        fractions = self.has_fractions(number)
        whole = to.op("Squeeze", self._float(number) if fractions else self.value(number), to.ints(0))
        return to.cast(whole, dtype)

    def _float(self, item: Any) -> Any:
        to = self.to
        if not isinstance(item, Expression):
            return to.constant([item], torch.float64)
        if not self.has_fractions(item):
            return to.cast(self.value(item), torch.float64)
        if isinstance(item, SizeRef):
            read = to.known[self.symbols[item.name].value]
            return to.cast(to.op("Reshape", read, to.ints(1)), torch.float64)
        assert isinstance(item, Operation)
        operator = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "**": "Pow"}.get(item.sign)
        if operator is None:
            raise NotImplementedError(f"a number {item}")
        return to.op(operator, self._float(item.left), self._float(item.right))

    def has_fractions(self, item: Any) -> bool:
        """Whether a number that follows from sizes, or is read, may be no whole number."""
        if isinstance(item, Operation):
            return item.sign in ("/", "**") or self.has_fractions(item.left) or self.has_fractions(item.right)
        if isinstance(item, SizeRef) and item.name in self.symbols:
            item = self.symbols[item.name].captured[0]
        return isinstance(item, float)
