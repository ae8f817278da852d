"""The statements of row-wise kernels: what `rowwise` puts together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base.dtypes import DType
from ..base.layout import Strides
from .dialects import Dialect
from .expression import Expression, Literal, Local, Operand, Place, RowValue, Scalar, cast, inside, leaves_of
from .frame import Leaves, declare_scalars, factor, independent, load_operand
from .packs import Packs
from .reduction import (
    SEGMENT,
    accumulating,
    beside,
    combined_by,
    folded,
    identity,
    keep_function,
    symmetric,
    unroll_for,
)
from .teams import added_up
from .writer import Writer, computed_in

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A value for each row.

    Attributes:
        expression: of operands, places, numbers, and of `RowValue`s of earlier stages.
        reducer: a key of `polyad.codegen.reduction.COMBINED_BY`, for the reduction over the row, in the dtype of the
            expression; None for a value that is computed once a row, from operands that are constant along it.
        dtype: of the `RowValue`; half types are computed in float32 and rounded when they are stored, not between
            stages.
    """

    expression: Expression
    reducer: str | None
    dtype: DType


def kept_at(dtype: DType) -> Operand:
    """What stands in an element's expression for what an earlier pass has written to result number 0."""
    return Operand(-1, dtype)


def _constant(expressions: Sequence[Expression]) -> Iterator[Expression]:
    """The largest parts of *expressions* that read row values, numbers and nothing else, but for numbers alone."""
    varying: dict[Expression, bool] = {}
    waiting = list(expressions)
    while waiting:
        node = waiting[-1]
        missing = [] if node in varying else [each for each in inside(node) if each not in varying]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        varying[node] = isinstance(node, (Operand, Place)) or any(varying[each] for each in inside(node))
    seen: set[Expression] = set()
    waiting = list(expressions)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if varying[node]:
            waiting.extend(inside(node))
        elif not isinstance(node, (Scalar, Literal)):
            yield node


@dataclass(frozen=True, slots=True)
class RowShape:
    """The shape of a kernel, and where in the geometry things are.

    *kept* and *reduced* count outer dimensions, *copies* the vectors that lie side by side across the rows. In a
    language without vectors it is *width* rows that lie side by side, counted by ``c`` in loops inside of those along
    them; what is known of a row is then an array. Where *group* instances make a group, *team* of them share a row, and
    read *pack* elements at once. An instance adds up *span* elements by themselves.
    """

    dialect: Dialect
    lanes: int
    across: bool
    copies: int
    width: int
    team: int
    group: int
    kept: int
    reduced: int
    inner: Strides | None
    pack: int = 1
    span: int = SEGMENT

    @property
    def count(self) -> str:
        """How many lanes of a vector hold elements."""
        return "m" if self.copies == 1 else str(self.lanes)

    def base(self, n: int) -> int:
        """Where array *n* begins."""
        return 5 + self.kept + self.reduced + n * (3 + self.kept + self.reduced)

    def near(self, n: int) -> str:
        """The stride of array *n* along vectors."""
        return f"{'k' if self.across else 'r'}{n}" if self.inner is None else str(self.inner[n])

    def beside(self, n: int, u: int) -> str:
        """How far from the first vector copy *u* is, or row c from the first row."""
        if self.width > 1:
            return f" + c * {self.near(n)}"
        return f" + {u * self.lanes} * {self.near(n)}" if u and self.across else ""

    def each(self, lines: Sequence[str]) -> list[str]:
        """*lines* for each of the rows side by side."""
        return beside(self.dialect, self.inner, self.width, lines)

    def element(self, n: int, u: int = 0) -> str:
        """Where in array *n* the current element is, or the first of vector *u* of a step."""
        if self.across:
            return f"p{n} + j * r{n}{self.beside(n, u)}"
        place = f"(j + {u * self.lanes})" if u else "j"
        return {"0": f"p{n}", "1": f"p{n} + {place}"}.get(self.near(n), f"p{n} + {place} * {self.near(n)}")


class RowText:
    """The kernel's statements, as they are written."""

    def __init__(self, shape: RowShape, leaves: Leaves, results: Sequence[DType]) -> None:
        self.shape = shape
        self.arrays: dict[Expression, int] = {leaf: n for n, leaf in enumerate(leaves.operands, len(results))}
        self.count = len(results) + len(leaves.operands)
        self.results = len(results)
        self.writer = Writer(shape.dialect, shape.lanes)
        declare_scalars(self.writer, leaves.scalars)
        self.lifted = self.writer.lines
        # By copy: what loops know, and what is known once a row.
        self.known = [dict(self.writer.known) for _ in range(shape.copies)]
        # What is computed once a row is a number, unless each lane has a row of its own.
        self.row, self.row_known = self.writer, [dict(known) for known in self.known]
        self.single = shape.across or shape.lanes == 1
        if not self.single:
            self.row = Writer(shape.dialect, 1, self.writer.functions, prefix="u")
            declare_scalars(self.row, leaves.scalars)
            self.lifted = [*self.lifted, *self.row.lines]
            self.row_known = [dict(self.row.known)]
        self._packs: Packs | None = None
        self.shared: list[str] = []
        self.lines: list[str] = []
        self._arrays = 0

    # ------------------------------------------------------------------------------------------------ a row's values

    def at_row(self, expression: Expression, u: int) -> Names:
        """The variables of an expression that has one value a row, for copy *u*."""
        row, shape = self.row, self.shape
        row.lines, row.known = [], dict(self.row_known[u])
        for leaf in leaves_of(expression):
            if isinstance(leaf, (Operand, Place)):
                n = self.arrays[leaf]
                near = shape.near(n) if shape.across else "0"
                row.known[leaf] = load_operand(
                    row, leaf, self._pointer(n), _at(leaf, f"q{n}{shape.beside(n, u)}"), near, shape.count
                )
        return self._kept(row.value(expression), expression.dtype)

    def _kept(self, names: Names, dtype: DType) -> Names:
        """The variables *names* of *dtype*, which `row` has written, where they can be read later."""
        row, shape = self.row, self.shape
        if shape.width == 1 or not row.lines:
            self.lines += row.lines
            return names
        arrays = [f"kept{self._arrays + part}" for part in range(len(names))]
        self._arrays += len(names)
        self.lines += [f"{row.type_of(dtype)} {array}[{shape.width}];" for array in arrays]
        stored = [f"{array}[c] = {name};" for array, name in zip(arrays, names, strict=True)]
        self.lines += shape.each([*row.lines, *stored])
        return tuple([f"{array}[c]" for array in arrays])

    def give(self, n: int, names: Names, stage: Stage, u: int) -> None:
        """Let stage *n* have the value *names*, of the dtype of its expression, in copy *u*."""
        self.row.lines, self.row.known = [], dict(self.row_known[u])
        value = self.row.value(cast(Local(names, stage.expression.dtype), stage.dtype))
        self.row_known[u][RowValue(n, stage.dtype)] = self._kept(value, stage.dtype)

    def _lift(self, expressions: Sequence[Expression]) -> None:
        """Compute what does not change along the row before the loop."""
        for u, (known, row_known) in enumerate(zip(self.known, self.row_known, strict=True)):
            for node in _constant(expressions):
                if node in known:
                    continue
                names = row_known[node] = self.at_row(node, u)
                if not self.single:
                    self.writer.lines = []
                    vector = self.writer.type_of(node.dtype)
                    names = tuple([self.writer.declare(node.dtype, f"({vector})({each})") for each in names])
                    self.lines += self.writer.lines
                known[node] = names

    # ------------------------------------------------------------------------------------------------ loops

    def _pointer(self, n: int) -> str:
        return f"in{n - self.results}" if n >= self.results else f"out{n}"

    def _load(self, expressions: Sequence[Expression], u: int, count: str) -> None:
        """Begin the body of a loop: variables with the operands' elements, those of vector *u* of a step."""
        self.writer.lines, self.writer.known = [], dict(self.known[u if self.shape.across else 0])
        self._packs = packs = Packs(self.writer, self.shape.pack) if self.shape.pack > 1 else None
        for leaf in sorted(set(leaves_of(*expressions)) & set(self.arrays), key=lambda leaf: self.arrays[leaf]):
            assert isinstance(leaf, (Operand, Place))
            n = self.arrays[leaf]
            if packs is not None and self.shape.near(n) == "1":
                pointer, place = self._pointer(n), f"(p{n} + j + c)"
                if isinstance(leaf, Operand):
                    pointer, place = packs.loaded(leaf.dtype, f"pack{n}", f"{pointer} + p{n} + j"), "c"
                self.writer.known[leaf] = load_operand(self.writer, leaf, pointer, place, "1", "1")
                continue
            place = _at(leaf, self.shape.element(n, u))
            self.writer.known[leaf] = load_operand(
                self.writer, leaf, self._pointer(n), place, self.shape.near(n), count
            )

    def _stored(self, n: int, dtype: DType, value: Names, u: int, count: str) -> list[str]:
        """Statements that write an element of result *n*."""
        shape = self.shape
        if self._packs is not None:
            pointer = self._packs.stored(dtype, f"made{n}", f"out{n} + p{n} + j")
            return self.writer.store(dtype, value, f"{pointer} + c", "1", "1")
        place = _at(Operand(n, dtype), shape.element(n, u))
        return self.writer.store(dtype, value, f"out{n} + {place}", shape.near(n), count)

    def _stepped(self, lines: Sequence[str]) -> list[str]:
        """The body of a loop, of which *lines* compute the element that `_load` read."""
        return list(lines) if self._packs is None else self._packs.around(lines)

    def _walk(
        self,
        arrays: Sequence[int],
        rest: Sequence[str],
        whole: Sequence[str] = (),
        step: int = 1,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        loop: Sequence[str] = (),
    ) -> None:
        """A pass over the row: *whole* takes *step* elements, *rest* one or a vector of them; a segment begins with
        *before* and ends with *after*, and before a loop over single elements stands *loop*.
        """
        shape = self.shape
        wide, lanes, segmented = shape.dialect.wide, shape.lanes, bool(before)
        sizes = [f"g.at[{5 + shape.kept + dim}]" for dim in range(shape.reduced)]
        far = {n: [f"g.at[{shape.base(n) + 3 + shape.kept + dim}]" for dim in range(shape.reduced)] for n in arrays}
        if shape.group > 1:
            lines = []
            if segmented:
                span = shape.span * shape.team
                lines += [
                    f"for ({wide} first = 0; first < places; first += {span}) {{",
                    f"const {wide} last = first + {span} < places ? first + {span} : places;",
                ]
            begin, end = ("first", "last") if segmented else ("0", "places")
            mine = "member" if shape.pack == 1 else f"member * {shape.pack}"
            counted = "j" if not shape.reduced else "e"
            lines += [
                *before,
                f"for ({wide} {counted} = {begin} + {mine}; {counted} < {end}; "
                f"{counted} += {shape.team * shape.pack}) {{",
            ]
            if shape.reduced:
                lines.append(f"{wide} line = e / g.at[3]; const {wide} j = e - line * g.at[3];")
            lines += [f"{wide if shape.reduced else f'const {wide}'} p{n} = q{n};" for n in arrays]
            for dim in range(shape.reduced - 1, -1, -1):
                lines.append(
                    f"{{ const {wide} rest = line / {sizes[dim]}, at = line - rest * {sizes[dim]}; line = rest;"
                )
                lines += [*(f"p{n} += at * {far[n][dim]};" for n in arrays), "}"]
            lines += [*rest, "}", *after, *(["}"] if segmented else [])]
        else:
            lines = [f"for ({wide} a{dim} = 0; a{dim} < {size}; ++a{dim}) {{" for dim, size in enumerate(sizes)]
            lines.append("{")
            for n in arrays:
                outer = "".join(f" + a{dim} * {stride}" for dim, stride in enumerate(far[n]))
                lines.append(f"const {wide} p{n} = q{n}{outer};")
            if segmented:
                lines += [
                    f"for ({wide} first = 0; first < g.at[3]; first += {shape.span}) {{",
                    f"const {wide} last = first + {shape.span} < g.at[3] ? first + {shape.span} : g.at[3];",
                ]
            else:
                lines += ["{", f"const {wide} first = 0, last = g.at[3];"]
            lines += before
            if whole or lanes > 1:
                lines.append(f"{wide} j = first;")
            if whole:
                lines += [f"for (; j + {step} <= last; j += {step}) {{", *whole, "}"]
            if lanes == 1:
                lines += [*loop, f"for ({wide} j = first; j < last; ++j) {{", *rest, "}"]
            elif shape.across:
                lines += ["for (; j < last; ++j) {", *rest, "}"]
            else:
                lines.append(f"for (; j < last; j += {lanes}) {{")
                lines += [f"const int m = last - j < {lanes} ? (int)(last - j) : {lanes};", *rest, "}"]
            lines += [*after, "}", "}", *["}" for _ in sizes]]
        self.lines += lines

    # ------------------------------------------------------------------------------------------------ reducing

    def reduce(self, stages: Sequence[tuple[int, Stage]], unroll: int, kept: Stage | None = None) -> None:
        """A pass over the row in which all of *stages*, numbered, accumulate; what *kept* adds up is written to result
        number 0, where `kept_at` reads it.
        """
        if not stages:
            return
        writer, shape = self.writer, self.shape
        expressions = [stage.expression for _, stage in stages]
        self._lift(expressions)
        if shape.across:
            unroll = shape.copies
        elif len(stages) > 2 or any(unroll_for(each) == 1 for each in expressions):
            unroll = 1
        sums = [_Sum(n, stage, writer, unroll, shape) for n, stage in stages]
        self.lines += [line for each in sums for line in each.start(each.totals)]

        def taken(u: int, count: str) -> list[str]:
            self._load(expressions, u, count)
            lines: list[str] = []
            for each in sums:
                values = writer.value(each.stage.expression)
                if each.stage is kept:
                    stored = self._stored(0, each.dtype, values, u, count)
                    lines += [*writer.lines, *stored]
                    writer.lines = []
                if count == "m" and shape.lanes > 1 and not shape.across:
                    keep = keep_function(writer, each.dtype)
                    values = tuple(
                        writer.declare(each.dtype, f"{keep}({value}, {zero}, m)")
                        for value, zero in zip(values, each.nothing, strict=True)
                    )
                known = writer.known
                lines += each.add(writer, each.blocks[u], values)
                writer.known = known
            return self._stepped(lines)

        read = {self.arrays[leaf] for leaf in set(leaves_of(*expressions)) & set(self.arrays)}
        arrays = sorted(read | {0} if kept else read)
        whole = [line for u in range(unroll) for line in taken(u, str(shape.lanes))] if unroll > 1 else []
        rest = whole if shape.copies > 1 else taken(0, "m")
        before = [line for each in sums for line in each.start(each.blocks)]
        writer.lines = []
        after = []
        for each in sums:
            for total, block in zip(each.totals, each.blocks, strict=True):
                after += each.add(writer, total, block)
        loop: list[str] = []
        if shape.lanes == 1 and not shape.across and not any(each.dtype.is_complex for each in sums):
            clauses = [accumulating(writer, each.reducer, each.dtype, each.blocks[0]) for each in sums]
            loop = independent(shape.dialect, shape.inner, "".join(clauses))
        rest, after = shape.each(rest), shape.each(after)
        self._walk(arrays, rest, () if shape.across else whole, shape.lanes * unroll, before, after, loop)
        for each in sums:
            if shape.across:
                for u, total in enumerate(each.totals):
                    self.give(each.position, tuple(total), each.stage, u)
                continue
            for u in range(1, unroll):
                writer.lines = []
                self.lines += each.add(writer, each.totals[0], each.totals[u])
            self.give(each.position, self._reduced(each), each.stage, 0)

    def _reduced(self, each: _Sum) -> Names:
        """The variables with what all lanes, and all instances of the group, add up to."""
        shape, reducer = self.shape, each.reducer
        if not self.single:
            packed = self.writer.packed(computed_in(each.dtype), "")
            names, lines = folded(
                self.row, each.totals[0], packed, shape.lanes, reducer, each.dtype, f"lane{each.position}_"
            )
            self.lines += lines
            return names
        if shape.group == 1:
            return tuple(each.totals[0])
        self.row.lines = []
        self.lines += added_up(
            shape.dialect, shape.team, shape.group, shape.dialect.types[computed_in(each.dtype)], each.totals[0],
            lambda into, others: each.add(self.row, into, others), self.shared, symmetric(reducer, each.dtype),
        )  # fmt: skip
        return tuple(each.totals[0])

    # ------------------------------------------------------------------------------------------------ results

    def write_elements(self, elements: Sequence[Expression]) -> None:
        """A pass over the row that writes results number 0 and on."""
        for leaf in leaves_of(*elements):
            if leaf == kept_at(leaf.dtype):
                self.arrays[leaf] = 0
        self._lift(elements)
        writer, shape = self.writer, self.shape
        lines = []
        for u in range(shape.copies):
            self._load(elements, u, shape.count)
            values = [writer.value(expression) for expression in elements]
            for n, (expression, value) in enumerate(zip(elements, values, strict=True)):
                writer.lines += self._stored(n, expression.dtype, value, u, shape.count)
            lines += self._stepped(writer.lines)
        loop = independent(shape.dialect, shape.inner)
        read = {self.arrays[leaf] for leaf in set(leaves_of(*elements)) & set(self.arrays)}
        self._walk(sorted(read | set(range(len(elements)))), shape.each(lines), loop=() if shape.across else loop)

    def write_rows(self, rows: Sequence[Expression], first: int) -> None:
        """Write results number *first* and on, a value a row."""
        if rows and self.shape.group > 1:
            self.lines.append("if (member == 0 && here) {")
        shape = self.shape
        for n, expression in enumerate(rows, first):
            for u in range(shape.copies):
                value = self.at_row(expression, u)
                place = _at(Operand(n, expression.dtype), f"q{n}{shape.beside(n, u)}")
                apart = shape.near(n) if shape.across else "1"
                self.row.lines = []
                stored = self.row.store(expression.dtype, value, f"out{n} + {place}", apart, shape.count)
                self.lines += shape.each(stored)
        if rows and self.shape.group > 1:
            self.lines.append("}")

    def head(self) -> list[str]:
        """Where the unit's row lies in every array."""
        shape, wide = self.shape, self.shape.dialect.wide
        arrays = range(self.count)
        lines = []
        if shape.group > 1:
            lines.append(f"const {wide} places = here ? g.at[4] : 0;")
        blocks = shape.lanes * shape.copies * shape.width if shape.across else 1
        if shape.kept:
            lines.append(f"{wide} row = unit / g.at[1]; const {wide} column = (unit - row * g.at[1]) * {blocks};")
        else:
            lines.append(f"const {wide} column = unit * {blocks};")
        if shape.across and blocks > 1 and shape.copies == 1:
            lines.append(f"const int m = g.at[2] - column < {blocks} ? (int)(g.at[2] - column) : {blocks};")
        for n in arrays:
            base = shape.base(n)
            lines.append(f"const {wide} k{n} = g.at[{base + 1}], r{n} = g.at[{base + 2 + shape.kept}];")
            lines.append(f"{wide} q{n} = g.at[{base}] + column * k{n};")
        for dim in range(shape.kept - 1, -1, -1):
            size = f"g.at[{5 + dim}]"
            lines.append(f"{{ const {wide} rest = row / {size}, at = row - rest * {size}; row = rest;")
            lines += [*(f"q{n} += at * g.at[{shape.base(n) + 2 + dim}];" for n in arrays), "}"]
        return lines


class _Sum:
    """The accumulators of a stage: for every vector of a step, a total and the block that will join it."""

    def __init__(self, position: int, stage: Stage, writer: Writer, unroll: int, shape: RowShape) -> None:
        assert stage.reducer is not None
        self.shape = shape
        self.position, self.stage, self.reducer, self.dtype = position, stage, stage.reducer, stage.expression.dtype
        parts = factor(self.dtype)
        self.nothing = [writer.constant(identity(self.reducer, self.dtype), self.dtype)]
        self.nothing += [writer.constant(0, self.dtype)] * (parts - 1)
        self.type = writer.type_of(self.dtype)
        c = "[c]" if shape.width > 1 else ""
        self.totals, self.blocks = (
            [[f"{what}{position}_{part}_{u}{c}" for part in range(parts)] for u in range(unroll)]
            for what in ("total", "block")
        )

    def start(self, places: Sequence[Sequence[str]]) -> list[str]:
        """The declarations of the totals or the blocks."""
        pairs = [pair for names in places for pair in zip(names, self.nothing, strict=True)]
        if self.shape.width == 1:
            return [f"{self.type} {name} = {zero};" for name, zero in pairs]
        declared = [f"{self.type} {name.replace('[c]', f'[{self.shape.width}]')};" for name, _ in pairs]
        return [*declared, *self.shape.each([f"{name} = {zero};" for name, zero in pairs])]

    def add(self, writer: Writer, into: Sequence[str], others: Sequence[str]) -> list[str]:
        """What *writer* has written, then statements that add *others* to *into*."""
        combined = combined_by(writer, self.reducer, self.dtype, into, others)
        lines = [*writer.lines, *(f"{name} = {text};" for name, text in zip(into, combined, strict=True))]
        writer.lines = []
        return lines


def _at(leaf: Operand | Place, place: str) -> str:
    """*place* as an index of the memory of *leaf*."""
    if isinstance(leaf, Place):
        return f"({place})"
    return f"{factor(leaf.dtype)} * ({place})" if factor(leaf.dtype) > 1 else place
