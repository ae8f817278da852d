"""The generator of row-wise kernels: `rowwise` writes kernels of several stages over the same rows, `rowwise_plan` says
how they walk given arrays.

A softmax needs its row's maximum, then the sum of exponentials that the maximum shifts, then writes the row. As a
kernel that is two stages and an element:

    stages    a `Stage` reduces an expression of operands over the row, or maps values of the row; it may read what
              earlier stages gave, as `RowValue`: those stay in registers, or in memory that a group shares
    elements  expressions with a value at each place, written to results of the full shape
    rows      expressions of row values, written to results with a value a row

Stages that do not wait for each other share a pass over the row. What does not change along a row is computed once.

The iteration space has *kept* and *reduced* dimensions, as in `reduction`; a *row* is all of the reduced ones. A kernel
has one of three shapes:

    along     an instance walks a row, with vectors along its inner dimension
    across    each lane of a vector has a row of its own: rows that lie side by side in memory
    together  a group of instances shares a row and meets at barriers: long rows on GPUs

Rows are accumulated in segments, as reductions are. A result may lie where an operand of the same layout lies: a place
is written after all of its row was read.

The geometry, as in `reduction`:

    units, kept blocks a row, inner kept length, inner reduced length, places a row,
    outer kept sizes, outer reduced sizes,
    then for every array (elements, rows, operands):
        offset, inner kept stride, outer kept strides, inner reduced stride, outer reduced strides
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..dtypes import DType
from ..errors import ArgumentError, DTypeError
from ..layout import Shape, Strides
from .collapse import by_memory
from .dialects import Dialect
from .elementwise import known_inner
from .expression import Expression, Literal, Local, Operand, Place, RowValue, Scalar, cast, inside, leaves_of
from .frame import (
    MIN_CHUNK,
    KernelSource,
    Leaves,
    Parameters,
    declare_scalars,
    factor,
    independent,
    interleaved,
    kernel_source,
    lanes_for,
    load_operand,
    neighbouring,
    padded_rank,
)
from .hardware import CPU, DeviceDescription
from .reduction import (
    SEGMENT,
    UNROLLED,
    accumulating,
    check_reducer,
    combined_by,
    folded,
    identity,
    keep_function,
    nearness,
    unroll_for,
)
from .writer import Writer, computed_in

_SHARED_ROW = 64
"""Places from which a row is worth a group of instances."""

_WIDTH = 64
"""Rows side by side that are walked together where there are no vectors."""

_FEW_GROUPS = 4
"""Of how many multiprocessors, one is busy at least where rows are not split."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A value for each row.

    Attributes:
        expression: of operands, places, numbers, and of `RowValue`s of earlier stages.
        reducer: a key of `polyad.codegen.reduction.COMBINED_BY`, for the reduction over the row, in the dtype of the
            expression; None for a value that is computed once a row, from operands that are constant along it.
        dtype: of the `RowValue`.
    """

    expression: Expression
    reducer: str | None
    dtype: DType


def rowwise(
    stages: Sequence[Stage],
    elements: Sequence[Expression],
    rows: Sequence[Expression],
    dialect: Dialect,
    device: DeviceDescription | None = None,
    *,
    across: bool = False,
    group: int = 1,
    kept_rank: int = 1,
    reduced_rank: int = 1,
    inner: Strides | None = None,
    unroll: int = 1,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that computes *stages* for every row and writes *elements* and *rows* to results of their own.

    Args:
        stages: in the order in which they read each other.
        elements, rows: what is written, at each place and for each row; operands in *rows* are constant along it.
        dialect, device: the language, and what decides the number of lanes.
        across, group, kept_rank, reduced_rank, inner, unroll: what the arrays' `RowwisePlan` says.
        name: of the kernel function.

    Raises ValueError for an unknown reducer and for a stage that reads itself or a later one, and what `elementwise`
    raises.

    >>> import polyad
    >>> from polyad.codegen import OPENCL_C, Operand, RowValue, Stage, apply
    >>> x = Operand(0, polyad.float32)
    >>> top, total = RowValue(0, polyad.float32), RowValue(1, polyad.float32)
    >>> power = apply("exp", x - top)
    >>> stages = [Stage(x, "amax", polyad.float32), Stage(power, "sum", polyad.float32)]
    >>> rowwise(stages, [power / total], [], OPENCL_C).lanes
    8
    """
    _check(stages, [*elements, *rows])
    device = device or DeviceDescription()
    lanes = rowwise_lanes(stages, elements, rows, dialect, device)
    leaves = Leaves.of([*(stage.expression for stage in stages), *elements, *rows])
    results = [expression.dtype for expression in (*elements, *rows)]
    parameters = Parameters.of(dialect, results, leaves)
    copies, width = (1, 1) if not across else (unroll, 1) if lanes > 1 else (1, unroll)
    shape = _Shape(dialect, lanes, across, copies, width, group, kept_rank - 1, reduced_rank - 1, inner)
    text = _Text(shape, leaves, results)
    for passing, after in _passes(stages):
        text.reduce([(n, stages[n]) for n in passing], unroll)
        for n in after:
            for u in range(shape.copies):
                text.give(n, text.at_row(stages[n].expression, u), stages[n], u)
    if elements:
        text.write_elements(elements)
    text.write_rows(rows, len(elements))
    width = shape.base(len(results) + len(leaves.operands))
    head = interleaved(dialect) if device.kind != CPU else neighbouring(dialect)
    if group > 1:
        wide = dialect.wide
        head = [f"for ({wide} unit = {dialect.group}; unit < g.at[0]; unit += {dialect.groups}) {{"]
    body = [*text.lifted, *text.shared, *head, *(f"    {line}" for line in (*text.head(), *text.lines)), "}"]
    functions = text.writer.functions.values()
    return kernel_source(dialect, name, parameters, width, functions, body, lanes=lanes, rank=kept_rank, group=group)


def rowwise_lanes(
    stages: Sequence[Stage],
    elements: Sequence[Expression],
    rows: Sequence[Expression],
    dialect: Dialect,
    device: DeviceDescription,
) -> int:
    """How many elements a vector of the kernel has: what `rowwise_plan` wants to know."""
    everything = [*(cast(stage.expression, stage.dtype) for stage in stages), *elements, *rows]
    return lanes_for(everything, dialect, device)


def rowwise_unroll(stages: Sequence[Stage]) -> int:
    """How many vectors a step may take: several if that helps any stage."""
    return UNROLLED if any(stage.reducer for stage in stages) else 1


def _check(stages: Sequence[Stage], results: Sequence[Expression]) -> None:
    for n, stage in enumerate(stages):
        if stage.reducer is not None:
            check_reducer(stage.reducer, stage.expression.dtype)
        _check_reads(stage.expression, stages[:n], f"stage {n}")
    for expression in results:
        _check_reads(expression, stages, "a result")


def _check_reads(expression: Expression, stages: Sequence[Stage], reader: str) -> None:
    for leaf in leaves_of(expression):
        if isinstance(leaf, RowValue):
            if not 0 <= leaf.position < len(stages):
                raise ArgumentError(
                    f"codegen: {reader} reads the value of stage {leaf.position}, which is not there yet",
                    fix="put stages before those that read them",
                )
            if leaf.dtype is not stages[leaf.position].dtype:
                raise DTypeError(
                    f"codegen: {reader} reads stage {leaf.position} as {leaf.dtype.name}, it gives "
                    f"{stages[leaf.position].dtype.name}",
                    fix="use the stage's dtype, and casts",
                )


def _passes(stages: Sequence[Stage]) -> list[tuple[list[int], list[int]]]:
    """The stages' numbers by passes over the row: those that reduce in it, then those that map what there is then."""
    levels: list[int] = []
    for stage in stages:
        read = [levels[leaf.position] for leaf in leaves_of(stage.expression) if isinstance(leaf, RowValue)]
        levels.append(max(read, default=0) + (stage.reducer is not None))
    found: list[tuple[list[int], list[int]]] = [([], []) for _ in range(max(levels, default=0) + 1)]
    for n, (stage, level) in enumerate(zip(stages, levels, strict=True)):
        found[level][stage.reducer is None].append(n)
    return found


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
class _Shape:
    """The shape of a kernel, and where in the geometry things are.

    *kept* and *reduced* count outer dimensions, *copies* the vectors that lie side by side across the rows. In a
    language without vectors it is *width* rows that lie side by side, counted by ``c`` in loops inside of those along
    them; what is known of a row is then an array.
    """

    dialect: Dialect
    lanes: int
    across: bool
    copies: int
    width: int
    group: int
    kept: int
    reduced: int
    inner: Strides | None

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
        if self.width == 1 or not lines:
            return list(lines)
        return [*independent(self.dialect, self.inner), "for (int c = 0; c < m; ++c) {", *lines, "}"]

    def element(self, n: int, u: int = 0) -> str:
        """Where in array *n* the current element is, or the first of vector *u* of a step."""
        if self.across:
            return f"p{n} + j * r{n}{self.beside(n, u)}"
        place = f"(j + {u * self.lanes})" if u else "j"
        return {"0": f"p{n}", "1": f"p{n} + {place}"}.get(self.near(n), f"p{n} + {place} * {self.near(n)}")


class _Text:
    """The kernel's statements, as they are written."""

    def __init__(self, shape: _Shape, leaves: Leaves, results: Sequence[DType]) -> None:
        self.shape = shape
        self.arrays: dict[Expression, int] = {leaf: n for n, leaf in enumerate(leaves.operands, len(results))}
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
        for leaf in sorted(set(leaves_of(*expressions)) & set(self.arrays), key=lambda leaf: self.arrays[leaf]):
            assert isinstance(leaf, (Operand, Place))
            n = self.arrays[leaf]
            place = _at(leaf, self.shape.element(n, u))
            self.writer.known[leaf] = load_operand(
                self.writer, leaf, self._pointer(n), place, self.shape.near(n), count
            )

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
                span = SEGMENT * shape.group
                lines += [
                    f"for ({wide} first = 0; first < g.at[4]; first += {span}) {{",
                    f"const {wide} last = first + {span} < g.at[4] ? first + {span} : g.at[4];",
                ]
            begin, end = ("first", "last") if segmented else ("0", "g.at[4]")
            counted = "j" if not shape.reduced else "e"
            lines += [
                *before,
                f"for ({wide} {counted} = {begin} + member; {counted} < {end}; {counted} += {shape.group}) {{",
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
                    f"for ({wide} first = 0; first < g.at[3]; first += {SEGMENT}) {{",
                    f"const {wide} last = first + {SEGMENT} < g.at[3] ? first + {SEGMENT} : g.at[3];",
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

    def reduce(self, stages: Sequence[tuple[int, Stage]], unroll: int) -> None:
        """A pass over the row in which all of *stages*, numbered, accumulate."""
        if not stages:
            return
        writer, shape = self.writer, self.shape
        expressions = [stage.expression for _, stage in stages]
        self._lift(expressions)
        if shape.width > 1 or (
            not shape.across and (len(stages) > 2 or any(unroll_for(each) == 1 for each in expressions))
        ):
            unroll = 1
        sums = [_Sum(n, stage, writer, unroll, shape) for n, stage in stages]
        self.lines += [line for each in sums for line in each.start(each.totals)]

        def taken(u: int, count: str) -> list[str]:
            self._load(expressions, u, count)
            lines: list[str] = []
            for each in sums:
                values = writer.value(each.stage.expression)
                if count == "m" and shape.lanes > 1 and not shape.across:
                    keep = keep_function(writer, each.dtype)
                    values = tuple(
                        writer.declare(each.dtype, f"{keep}({value}, {zero}, m)")
                        for value, zero in zip(values, each.nothing, strict=True)
                    )
                known = writer.known
                lines += each.add(writer, each.blocks[u], values)
                writer.known = known
            return lines

        arrays = sorted(self.arrays[leaf] for leaf in set(leaves_of(*expressions)) & set(self.arrays))
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
        dialect, own = shape.dialect, computed_in(each.dtype)
        memory = [f"shared_{own.name}_{part}" for part in range(len(each.totals[0]))]
        for each_memory in memory:
            declared = f"{dialect.shared}{dialect.types[own]} {each_memory}[{shape.group}];"
            if declared not in self.shared:
                self.shared.append(declared)
        self.row.lines = []
        here, there = [f"{m}[member]" for m in memory], [f"{m}[member + apart]" for m in memory]
        half = 1 << ((shape.group - 1).bit_length() - 1)
        self.lines += [
            *(f"{place} = {total};" for place, total in zip(here, each.totals[0], strict=True)),
            dialect.barrier,
            f"for (int apart = {half}; apart > 0; apart /= 2) {{",
            f"if (member < apart && member + apart < {shape.group}) {{",
            *each.add(self.row, here, there),
            "}",
            dialect.barrier,
            "}",
        ]
        self.row.lines = []
        names = tuple([self.row.declare(own, f"{m}[0]") for m in memory])
        # Nobody writes to the memory before all have read it.
        self.lines += [*self.row.lines, dialect.barrier]
        return names

    # ------------------------------------------------------------------------------------------------ results

    def write_elements(self, elements: Sequence[Expression]) -> None:
        """A pass over the row that writes results number 0 and on."""
        self._lift(elements)
        writer, shape = self.writer, self.shape
        lines = []
        for u in range(shape.copies):
            self._load(elements, u, shape.count)
            values = [writer.value(expression) for expression in elements]
            for n, (expression, value) in enumerate(zip(elements, values, strict=True)):
                place = _at(Operand(n, expression.dtype), shape.element(n, u))
                stored = writer.store(expression.dtype, value, f"out{n} + {place}", shape.near(n), shape.count)
                writer.lines += stored
            lines += writer.lines
        loop = independent(shape.dialect, shape.inner)
        read = {self.arrays[leaf] for leaf in set(leaves_of(*elements)) & set(self.arrays)}
        self._walk([*range(len(elements)), *sorted(read)], shape.each(lines), loop=() if shape.across else loop)

    def write_rows(self, rows: Sequence[Expression], first: int) -> None:
        """Write results number *first* and on, a value a row."""
        if rows and self.shape.group > 1:
            self.lines.append("if (member == 0) {")
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
        arrays = range(self.results + len(self.arrays))
        lines = []
        if shape.group > 1:
            lines.append(f"const int member = {shape.dialect.member};")
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

    def __init__(self, position: int, stage: Stage, writer: Writer, unroll: int, shape: _Shape) -> None:
        assert stage.reducer is not None
        self.shape = shape
        self.position, self.stage, self.reducer, self.dtype = position, stage, stage.reducer, stage.expression.dtype
        parts = factor(self.dtype)
        self.nothing = [writer.constant(identity(self.reducer, self.dtype), self.dtype)]
        self.nothing += [writer.constant(0, self.dtype)] * (parts - 1)
        self.type = writer.type_of(self.dtype)
        self.totals, self.blocks = (
            [
                [f"{what}{position}_{part}_{u}{'[c]' if shape.width > 1 else ''}" for part in range(parts)]
                for u in range(unroll)
            ]
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


@dataclass(frozen=True, slots=True)
class RowwisePlan:
    """How a row-wise kernel walks given arrays.

    Attributes:
        across: whether lanes lie along the kept dimension.
        group: how many instances share a row; they must be launched as a group.
        kept_rank, reduced_rank: collapsed dimensions that it must walk, see `padded_rank`.
        inner: the arrays' strides along the vectors, all 0 or 1, if the kernel may rely on them; None: any.
        unroll: vectors a step, or, across, vectors or rows side by side.
        instances: how many to launch, a multiple of *group*; none if there are no rows.
        geometry: the kernel's last argument.
        splits: whether rows are so few and long that passes of their own, which share a row out, had better do it. The
            kernel is right all the same.
    """

    across: bool
    group: int
    kept_rank: int
    reduced_rank: int
    inner: Strides | None
    unroll: int
    instances: int
    geometry: bytes
    splits: bool


def rowwise_plan(
    lanes: int,
    device: DeviceDescription,
    shape: Shape,
    dims: Sequence[int],
    strides: Sequence[Strides],
    offsets: Sequence[int],
    *,
    elements: int,
    rows: int = 0,
    unroll: int = 1,
) -> RowwisePlan:
    """How to compute row-wise over *dims* of *shape*.

    Args:
        lanes: of the kernel, see `rowwise_lanes`.
        device: decides how the work is shared out.
        shape: of the iteration space.
        dims: the dimensions that make a row, sorted.
        strides, offsets: of the results for elements, those for rows, then the operands: strides along *shape* in
            elements, 0 where an operand is broadcast; what a result for rows has along *dims* does not matter.
        elements, rows: how many results there are of either.
        unroll: vectors a step, where they are dense and many: what `rowwise_unroll` says.

    >>> plan = rowwise_plan(8, DeviceDescription(), (4, 6), [1], [(6, 1), (6, 1)], [0, 0], elements=1)
    >>> plan.across, plan.splits, plan.instances
    (False, False, 1)
    """
    gone, results = set(dims), elements + rows
    stay = [dim for dim in range(len(shape)) if dim not in gone]
    if any(shape[dim] == 0 for dim in stay):
        return RowwisePlan(False, 1, 1, 1, None, 1, 0, b"", False)
    # Operands come first: their order in memory is what the walk had better follow.
    order = [*range(results, len(strides)), *range(results)]
    back = sorted(range(len(order)), key=order.__getitem__)
    kept_sizes, kept = by_memory(
        tuple([shape[dim] for dim in stay]), [tuple([strides[n][dim] for dim in stay]) for n in order]
    )
    nowhere = (0,) * len(dims)
    reduced_sizes, reduced = by_memory(
        tuple([shape[dim] for dim in dims]),
        [nowhere if elements <= n < results else tuple([strides[n][dim] for dim in dims]) for n in order],
    )
    kept, reduced = tuple([kept[n] for n in back]), tuple([reduced[n] for n in back])
    length, places = reduced_sizes[-1], math.prod(reduced_sizes)
    count, columns = math.prod(kept_sizes), kept_sizes[-1]
    walked = [n for n in range(len(strides)) if not elements <= n < results]
    across = columns > 1 and nearness([kept[n] for n in walked], columns) > nearness(
        [reduced[n] for n in walked], length
    )
    group, inner, splits = 1, None, False
    if device.kind == CPU:
        inner = _dense(kept if across else reduced, lanes, elements, results, across, count * places)
    else:
        across = across and count >= device.workers // 8
        if not across and places >= _SHARED_ROW:
            group = device.local_size
    if lanes == 1 and device.kind == CPU:
        unroll = _WIDTH if across else 1
    elif inner is None or (columns % (unroll * lanes) if across else length < unroll * lanes):
        unroll = 1
    units = count // columns * -(-columns // (lanes * unroll)) if across else count
    if count * places >= 8 * SEGMENT:
        if device.kind == CPU:
            splits = units < 2 * device.compute_units and units % device.compute_units != 0
        else:
            busy = units * group < device.compute_units * device.local_size // _FEW_GROUPS
            splits = busy and places >= 8 * SEGMENT
    kept_rank, reduced_rank = padded_rank(len(kept_sizes)), padded_rank(len(reduced_sizes))
    pad_kept, pad_reduced = (0,) * (kept_rank - len(kept_sizes)), (0,) * (reduced_rank - len(reduced_sizes))
    numbers = [units, units // (count // columns), columns, length, places]
    numbers += [*(1 for _ in pad_kept), *kept_sizes[:-1], *(1 for _ in pad_reduced), *reduced_sizes[:-1]]
    for offset, near, far in zip(offsets, kept, reduced, strict=True):
        numbers += [offset, near[-1], *pad_kept, *near[:-1], far[-1], *pad_reduced, *far[:-1]]
    if device.kind == CPU:
        # Short rows: several an instance.
        instances = max(1, min(units, count * places // (MIN_CHUNK // 2), 4 * device.workers))
    else:
        instances = group * min(units, max(1, device.workers // group))
    geometry = struct.pack(f"{len(numbers)}q", *numbers)
    return RowwisePlan(across, group, kept_rank, reduced_rank, inner, unroll, instances, geometry, splits)


def _dense(
    steps: Sequence[Strides], lanes: int, elements: int, results: int, across: bool, places: int
) -> Strides | None:
    """The inner strides, if a kernel for just these is worth having; results for rows matter only *across*."""
    if across:
        return known_inner(steps, lanes, results, places)
    found = known_inner([*steps[:elements], *steps[results:]], lanes, elements, places)
    return found and (*found[:elements], *(0 for _ in range(results - elements)), *found[elements:])
