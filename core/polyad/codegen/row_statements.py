"""The statements of row-wise kernels: what `rowwise` puts together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..base.dtypes import DType
from ..base.layout import Strides
from .accumulators import SEGMENT, Accumulators, fold_lanes, for_columns, reduction_clause, symmetric, unroll_for
from .dialects import Dialect
from .expression import Expression, Iota, Literal, Local, Operand, RowValue, Scalar, cast, invariant_parts, leaves_of
from .frame import Leaves, declare_scalars, factor, independent, load_operand
from .packs import Packs
from .variants import Variant
from .workgroups import add_up_row
from .writer import Writer, computed_in

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A value for each row.

    Attributes:
        expression: of operands, places, numbers, and of `RowValue`s of earlier stages.
        reducer: a key of `polyad.codegen.accumulators.COMBINED_BY`, for the reduction over the row, in the dtype of the
            expression; None for a value that is computed once a row, from operands that are constant along it.
        dtype: of the `RowValue`; half types are computed in float32 and rounded when they are stored, not between
            stages.
    """

    expression: Expression
    reducer: str | None
    dtype: DType


def written_summand(dtype: DType) -> Operand:
    """What stands in an element's expression for the summand that an earlier pass has written to result number 0."""
    return Operand(-1, dtype)


def _constant_parts(expressions: Sequence[Expression]) -> list[Expression]:
    """The largest parts of *expressions* that read row values, numbers and nothing else, but for numbers alone."""
    found = invariant_parts(expressions, lambda node: isinstance(node, (Operand, Iota)))
    return [node for node in found if not isinstance(node, (Scalar, Literal))]


@dataclass(frozen=True, slots=True)
class RowShape:
    """How a kernel goes over rows, and where in the geometry things are.

    *kept* and *reduced* count outer dimensions, *copies* the vectors that lie side by side across the rows. In a
    language without vectors it is *width* rows that lie side by side, counted by ``c`` in loops inside of those along
    them; what is known of a row is then an array. Of a workgroup of *group* work items, *row_items* share a row; each
    reads *pack* elements at once, and accumulates *span* elements before they join the total.
    """

    dialect: Dialect
    lanes: int
    across: bool
    copies: int
    width: int
    row_items: int
    group: int
    kept: int
    reduced: int
    inner: Strides | None
    pack: int
    span: int = SEGMENT

    @classmethod
    def of(cls, dialect: Dialect, lanes: int, variant: Variant, span: int) -> RowShape:
        """That of a kernel's *variant*."""
        across, unroll = variant.across, variant.unroll
        copies, width = (1, 1) if not across else (unroll, 1) if lanes > 1 else (1, unroll)
        return cls(
            dialect, lanes, across, copies, width, variant.row_items, variant.group, variant.kept_rank - 1,
            variant.reduced_rank - 1, variant.inner, variant.pack, span,
        )  # fmt: skip

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

    def offset(self, n: int, u: int) -> str:
        """How far from the first vector copy *u* is, or row c from the first row."""
        if self.width > 1:
            return f" + c * {self.near(n)}"
        return f" + {u * self.lanes} * {self.near(n)}" if u and self.across else ""

    def for_rows(self, lines: Sequence[str]) -> list[str]:
        """*lines* for each of the rows side by side."""
        return for_columns(self.dialect, self.inner, self.width, lines)

    def element(self, n: int, u: int = 0) -> str:
        """Where in array *n* the current element is, or the first of vector *u* of a step."""
        if self.across:
            return f"p{n} + j * r{n}{self.offset(n, u)}"
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
            if isinstance(leaf, (Operand, Iota)):
                n = self.arrays[leaf]
                near = shape.near(n) if shape.across else "0"
                row.known[leaf] = load_operand(
                    row, leaf, self._pointer(n), _at(leaf, f"q{n}{shape.offset(n, u)}"), near, shape.count
                )
        return self._save(row.value(expression), expression.dtype)

    def _save(self, names: Names, dtype: DType) -> Names:
        """The variables *names* of *dtype*, which `row` has written; of rows side by side, in arrays."""
        row, shape = self.row, self.shape
        if shape.width == 1 or not row.lines:
            self.lines += row.lines
            return names
        arrays = [f"kept{self._arrays + part}" for part in range(len(names))]
        self._arrays += len(names)
        self.lines += [f"{row.type_of(dtype)} {array}[{shape.width}];" for array in arrays]
        stored = [f"{array}[c] = {name};" for array, name in zip(arrays, names, strict=True)]
        self.lines += shape.for_rows([*row.lines, *stored])
        return tuple([f"{array}[c]" for array in arrays])

    def give(self, n: int, names: Names, stage: Stage, u: int) -> None:
        """Let stage *n* have the value *names*, of the dtype of its expression, in copy *u*."""
        self.row.lines, self.row.known = [], dict(self.row_known[u])
        value = self.row.value(cast(Local(names, stage.expression.dtype), stage.dtype))
        self.row_known[u][RowValue(n, stage.dtype)] = self._save(value, stage.dtype)

    def _lift(self, expressions: Sequence[Expression]) -> None:
        """Compute what does not change along the row before the loop."""
        for u, (known, row_known) in enumerate(zip(self.known, self.row_known, strict=True)):
            for node in _constant_parts(expressions):
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
        for leaf in sorted(self._read_by(expressions), key=lambda leaf: self.arrays[leaf]):
            assert isinstance(leaf, (Operand, Iota))
            n = self.arrays[leaf]
            pointer, near = self._pointer(n), self.shape.near(n)
            if packs is None or near != "1":
                place = _at(leaf, self.shape.element(n, u))
                self.writer.known[leaf] = load_operand(self.writer, leaf, pointer, place, near, count)
                continue
            place = f"(p{n} + j + c)"
            if isinstance(leaf, Operand):
                pointer, place = packs.load(leaf.dtype, f"pack{n}", f"{pointer} + p{n} + j"), "c"
            self.writer.known[leaf] = load_operand(self.writer, leaf, pointer, place, "1", "1")

    def _read_by(self, expressions: Sequence[Expression]) -> set[Expression]:
        """The arrays' leaves that *expressions* read."""
        return set(leaves_of(*expressions)) & set(self.arrays)

    def _store(self, n: int, dtype: DType, value: Names, u: int, count: str) -> list[str]:
        """Statements that write an element of result *n*."""
        shape = self.shape
        if self._packs is not None:
            pointer = self._packs.store(dtype, f"made{n}", f"out{n} + p{n} + j")
            return self.writer.store(dtype, value, f"{pointer} + c", "1", "1")
        place = _at(Operand(n, dtype), shape.element(n, u))
        return self.writer.store(dtype, value, f"out{n} + {place}", shape.near(n), count)

    def _around(self, lines: Sequence[str]) -> list[str]:
        """The body of a loop, of which *lines* compute the element that `_load` read."""
        return list(lines) if self._packs is None else self._packs.around(lines)

    def _walk(self, leaves: set[Expression], written: Sequence[int], loop: _Loop) -> None:
        """A pass over the row that reads *leaves*, and writes the results with the numbers *written*."""
        arrays = sorted({self.arrays[leaf] for leaf in leaves} | {*written})
        self.lines += self._walk_shared(arrays, loop) if self.shape.group > 1 else self._walk_alone(arrays, loop)

    def _outer(self, n: int) -> list[str]:
        """The strides of array *n* along the outer dimensions of a row."""
        shape = self.shape
        return [f"g.at[{shape.base(n) + 3 + shape.kept + dim}]" for dim in range(shape.reduced)]

    def _walk_shared(self, arrays: Sequence[int], loop: _Loop) -> list[str]:
        """A pass over a row that several work items share: they count its elements through all of its dimensions."""
        shape, index = self.shape, self.shape.dialect.wide
        lines, begin, end = [], "0", "places"
        if loop.before:
            span = shape.span * shape.row_items
            lines += [
                f"for ({index} first = 0; first < places; first += {span}) {{",
                f"const {index} last = first + {span} < places ? first + {span} : places;",
            ]
            begin, end = "first", "last"
        mine = "member" if shape.pack == 1 else f"member * {shape.pack}"
        counted = "e" if shape.reduced else "j"
        lines += [
            *loop.before,
            f"for ({index} {counted} = {begin} + {mine}; {counted} < {end}; "
            f"{counted} += {shape.row_items * shape.pack}) {{",
        ]
        if shape.reduced:
            lines.append(f"{index} line = e / g.at[3]; const {index} j = e - line * g.at[3];")
        lines += [f"{'' if shape.reduced else 'const '}{index} p{n} = q{n};" for n in arrays]
        for dim in range(shape.reduced - 1, -1, -1):
            size = f"g.at[{5 + shape.kept + dim}]"
            lines.append(f"{{ const {index} rest = line / {size}, at = line - rest * {size}; line = rest;")
            lines += [*(f"p{n} += at * {self._outer(n)[dim]};" for n in arrays), "}"]
        return [*lines, *loop.rest, "}", *loop.after, *(["}"] if loop.before else [])]

    def _walk_alone(self, arrays: Sequence[int], loop: _Loop) -> list[str]:
        """A pass over a row that a work item has to itself, or of rows that lie side by side."""
        shape, index, lanes = self.shape, self.shape.dialect.wide, self.shape.lanes
        sizes = [f"g.at[{5 + shape.kept + dim}]" for dim in range(shape.reduced)]
        lines = [f"for ({index} a{dim} = 0; a{dim} < {size}; ++a{dim}) {{" for dim, size in enumerate(sizes)]
        lines.append("{")
        for n in arrays:
            outer = "".join(f" + a{dim} * {stride}" for dim, stride in enumerate(self._outer(n)))
            lines.append(f"const {index} p{n} = q{n}{outer};")
        if loop.before:
            lines += [
                f"for ({index} first = 0; first < g.at[3]; first += {shape.span}) {{",
                f"const {index} last = first + {shape.span} < g.at[3] ? first + {shape.span} : g.at[3];",
            ]
        else:
            lines += ["{", f"const {index} first = 0, last = g.at[3];"]
        lines += loop.before
        if loop.whole or lanes > 1:
            lines.append(f"{index} j = first;")
        if loop.whole:
            lines += [f"for (; j + {loop.step} <= last; j += {loop.step}) {{", *loop.whole, "}"]
        if lanes == 1:
            lines += [*loop.marks, f"for ({index} j = first; j < last; ++j) {{", *loop.rest, "}"]
        elif shape.across:
            lines += ["for (; j < last; ++j) {", *loop.rest, "}"]
        else:
            lines.append(f"for (; j < last; j += {lanes}) {{")
            lines += [f"const int m = last - j < {lanes} ? (int)(last - j) : {lanes};", *loop.rest, "}"]
        return [*lines, *loop.after, "}", "}", *["}" for _ in sizes]]

    # ------------------------------------------------------------------------------------------------ reducing

    def reduce(self, stages: Sequence[tuple[int, Stage]], unroll: int, written: Stage | None = None) -> None:
        """A pass over the row in which all of *stages*, numbered, accumulate; the summands of the one that is *written*
        go to result number 0, where `written_summand` reads them.
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
        self.lines += [line for each in sums for line in each.declare(each.totals)]
        whole: list[str] = []
        if unroll > 1:
            whole = [line for u in range(unroll) for line in self._accumulate(sums, u, str(shape.lanes), written)]
        rest = whole if shape.copies > 1 else self._accumulate(sums, 0, "m", written)
        loop = _Loop(
            shape.for_rows(rest),
            () if shape.across else whole,
            shape.lanes * unroll,
            [line for each in sums for line in each.declare(each.blocks)],
            shape.for_rows([line for each in sums for line in each.join_blocks(writer)]),
            self._mark_accumulators(sums),
        )
        self._walk(self._read_by(expressions), [0] if written else [], loop)
        for each in sums:
            self._finish(each)

    def _accumulate(self, sums: Sequence[_Sum], u: int, count: str, written: Stage | None) -> list[str]:
        """Statements that take the *count* elements of vector *u* of a step."""
        writer = self.writer
        self._load([each.stage.expression for each in sums], u, count)
        lines: list[str] = []
        for each in sums:
            values = writer.value(each.stage.expression)
            if each.stage is written:
                stored = self._store(0, each.dtype, values, u, count)
                lines += [*writer.lines, *stored]
                writer.lines = []
            if count == "m" and self.shape.lanes > 1 and not self.shape.across:
                values = each.mask(writer, values)
            known = writer.known
            lines += each.add(writer, each.blocks[u], values)
            writer.known = known
        return self._around(lines)

    def _mark_accumulators(self, sums: Sequence[_Sum]) -> list[str]:
        """What stands before a loop over single elements, so that a compiler makes vectors of it."""
        if self.shape.lanes > 1 or self.shape.across or any(each.dtype.is_complex for each in sums):
            return []
        clauses = [reduction_clause(self.writer, each.reducer, each.dtype, each.blocks[0]) for each in sums]
        return independent(self.shape.dialect, self.shape.inner, "".join(clauses))

    def _finish(self, each: _Sum) -> None:
        """Let the stage have what all vectors and lanes, and all work items that share the row, add up to."""
        shape = self.shape
        if shape.across:
            for u, total in enumerate(each.totals):
                self.give(each.position, tuple(total), each.stage, u)
            return
        self.lines += each.fold_totals(self.writer)
        names = tuple(each.totals[0])
        if not self.single:
            packed = self.writer.packed(computed_in(each.dtype), "")
            lane = f"lane{each.position}_"
            names, lines = fold_lanes(self.row, names, packed, shape.lanes, each.reducer, each.dtype, lane)
            self.lines += lines
        elif shape.group > 1:
            self.row.lines = []
            self.lines += add_up_row(
                shape.dialect, shape.row_items, shape.group, shape.dialect.types[computed_in(each.dtype)], names,
                lambda into, others: each.add(self.row, into, others), self.shared,
                symmetric(each.reducer, each.dtype),
            )  # fmt: skip
        self.give(each.position, names, each.stage, 0)

    # ------------------------------------------------------------------------------------------------ results

    def write_elements(self, elements: Sequence[Expression]) -> None:
        """A pass over the row that writes results number 0 and on."""
        for leaf in leaves_of(*elements):
            if leaf == written_summand(leaf.dtype):
                self.arrays[leaf] = 0
        self._lift(elements)
        writer, shape = self.writer, self.shape
        lines = []
        for u in range(shape.copies):
            self._load(elements, u, shape.count)
            values = [writer.value(expression) for expression in elements]
            for n, (expression, value) in enumerate(zip(elements, values, strict=True)):
                writer.lines += self._store(n, expression.dtype, value, u, shape.count)
            lines += self._around(writer.lines)
        marks = () if shape.across else independent(shape.dialect, shape.inner)
        self._walk(self._read_by(elements), range(len(elements)), _Loop(shape.for_rows(lines), marks=marks))

    def write_rows(self, rows: Sequence[Expression], first: int) -> None:
        """Write results number *first* and on, a value a row."""
        if rows and self.shape.group > 1:
            self.lines.append("if (member == 0 && here) {")
        shape = self.shape
        for n, expression in enumerate(rows, first):
            for u in range(shape.copies):
                value = self.at_row(expression, u)
                place = _at(Operand(n, expression.dtype), f"q{n}{shape.offset(n, u)}")
                apart = shape.near(n) if shape.across else "1"
                self.row.lines = []
                stored = self.row.store(expression.dtype, value, f"out{n} + {place}", apart, shape.count)
                self.lines += shape.for_rows(stored)
        if rows and self.shape.group > 1:
            self.lines.append("}")

    def head(self) -> list[str]:
        """Where the unit's row lies in every array."""
        shape, index = self.shape, self.shape.dialect.wide
        arrays = range(self.count)
        lines = []
        if shape.group > 1:
            lines.append(f"const {index} places = here ? g.at[4] : 0;")
        blocks = shape.lanes * shape.copies * shape.width if shape.across else 1
        if shape.kept:
            lines.append(f"{index} row = unit / g.at[1]; const {index} column = (unit - row * g.at[1]) * {blocks};")
        else:
            lines.append(f"const {index} column = unit * {blocks};")
        if shape.across and blocks > 1 and shape.copies == 1:
            lines.append(f"const int m = g.at[2] - column < {blocks} ? (int)(g.at[2] - column) : {blocks};")
        for n in arrays:
            base = shape.base(n)
            lines.append(f"const {index} k{n} = g.at[{base + 1}], r{n} = g.at[{base + 2 + shape.kept}];")
            lines.append(f"{index} q{n} = g.at[{base}] + column * k{n};")
        for dim in range(shape.kept - 1, -1, -1):
            size = f"g.at[{5 + dim}]"
            lines.append(f"{{ const {index} rest = row / {size}, at = row - rest * {size}; row = rest;")
            lines += [*(f"q{n} += at * g.at[{shape.base(n) + 2 + dim}];" for n in arrays), "}"]
        return lines


class _Loop(NamedTuple):
    """A pass over a row: *whole* takes *step* elements, *rest* one or a vector of them; a segment begins with *before*
    and ends with *after*, and before a loop over single elements stand *marks*. Without *before* there are no segments.
    """

    rest: Sequence[str]
    whole: Sequence[str] = ()
    step: int = 1
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    marks: Sequence[str] = ()


class _Sum(Accumulators):
    """The accumulators of stage number *position*."""

    def __init__(self, position: int, stage: Stage, writer: Writer, unroll: int, shape: RowShape) -> None:
        assert stage.reducer is not None
        self.position, self.stage = position, stage
        prefix = f"{position}_"
        super().__init__(writer, stage.reducer, stage.expression.dtype, unroll, shape.inner, shape.width, prefix)


def _at(leaf: Operand | Iota, place: str) -> str:
    """*place* as an index of the memory of *leaf*."""
    if isinstance(leaf, Iota):
        return f"({place})"
    return f"{factor(leaf.dtype)} * ({place})" if factor(leaf.dtype) > 1 else place
