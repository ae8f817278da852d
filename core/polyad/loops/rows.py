"""The schedule of stages over rows: passes that accumulate, and a last one that writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..base.dtypes import DType
from ..codegen.accumulators import unroll_for
from ..codegen.expression import (
    Expression,
    Iota,
    Literal,
    Local,
    Operand,
    RowValue,
    Scalar,
    cast,
    invariant_parts,
    leaves_of,
    where,
)  # fmt: skip
from ..codegen.variants import Variant
from . import groups, nodes
from .elements import rest_of_vector
from .nodes import (
    ONE,
    ZERO,
    Accumulate,
    Accumulator,
    Begin,
    Block,
    Body,
    Fold,
    Give,
    If,
    Index,
    Let,
    Load,
    Loop,
    Node,
    Store,
    at,
    geometry,
    least,
    number,
    var,
)  # fmt: skip


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


class Rows:
    """How a kernel of `polyad.codegen.rowwise` goes over rows: its statements, as they are added.

    *copies* vectors lie side by side across the rows. In a language without vectors it is *width* rows that lie side by
    side, counted by ``c`` in loops inside of those along them; what is known of a row is then an array. Each work item
    accumulates *span* elements before they join the total; *warp* of them exchange values without memory.
    """

    def __init__(
        self, operands: Sequence[Operand | Iota], results: int, lanes: int, variant: Variant, span: int, on_cpu: bool,
        warp: int,
    ) -> None:  # fmt: skip
        self.variant, self.lanes, self.span, self.warp = variant, lanes, span, warp
        self.across, self.inner, unroll = variant.across, variant.inner, variant.unroll
        self.copies, self.width = (1, 1) if not self.across else (unroll, 1) if lanes > 1 else (1, unroll)
        self.kept, self.reduced = variant.kept_rank - 1, variant.reduced_rank - 1
        self.arrays: dict[Expression, int] = {leaf: n for n, leaf in enumerate(operands, results)}
        self.results, self.count = results, results + len(operands)
        # What is computed once a row is a number, unless each lane has a row of its own.
        self.single = not self.across and lanes > 1
        self.kind = nodes.SERIAL if self.inner is None else nodes.VECTOR
        self.many = number(lanes) if self.copies > 1 else var("m") if lanes > 1 or self.width > 1 else ONE
        self.units = nodes.ROWS if on_cpu else nodes.ITEMS
        self.shared: dict[nodes.Shared, None] = {}
        self.lines: list[Node] = []

    def base(self, n: int) -> int:
        """Where the geometry has array *n*."""
        return 5 + self.kept + self.reduced + n * (3 + self.kept + self.reduced)

    def near(self, n: int) -> Index:
        """The stride of array *n* along vectors."""
        return var(f"{'k' if self.across else 'r'}{n}") if self.inner is None else number(self.inner[n])

    def _beside(self, n: int, place: Index, u: int) -> Index:
        """*place* for copy *u*, or for row c, of what lies side by side."""
        if self.width > 1:
            return at(place, var("c"), self.near(n))
        return at(place, number(u * self.lanes), self.near(n)) if u and self.across else place

    def _element(self, n: int, u: int = 0) -> Index:
        """Where in array *n* the current element is, or the first of vector *u* of a step."""
        if self.across:
            return self._beside(n, at(var(f"p{n}"), var("j"), var(f"r{n}")), u)
        return at(var(f"p{n}"), var("j") + number(u * self.lanes) if u else var("j"), self.near(n))

    def _array(self, n: int) -> str:
        return f"in{n - self.results}" if n >= self.results else f"out{n}"

    def _for_rows(self, body: Iterable[Node]) -> Body:
        """*body* for each of the rows side by side."""
        return tuple(body) if self.width == 1 else (nodes.over_columns(self.kind, tuple(body)),)

    def _for_copies(self, bodies: Sequence[Body]) -> Body:
        """What copies do, each in a block of its own."""
        return bodies[0] if len(bodies) == 1 else tuple([Block(body, u) for u, body in enumerate(bodies)])

    def body(self) -> Body:
        """All of the kernel's statements."""
        body, variant = (*self._head(), *self.lines), self.variant
        if variant.group > 1:
            return *self.shared, groups.walk_rows(body, variant.row_items, variant.group)
        return *self.shared, Loop(self.units, "unit", 0, geometry(0), body)

    # ------------------------------------------------------------------------------------------------ a row's values

    def _give(self, name: Expression, value: Expression, u: int, lifted: bool = False) -> Give:
        """What computes *value* once a row, for copy *u*."""
        loads = []
        for leaf in leaves_of(value):
            if isinstance(leaf, (Operand, Iota)):
                n = self.arrays[leaf]
                place, near = self._beside(n, var(f"q{n}"), u), self.near(n) if self.across else ZERO
                loads.append(Load(leaf, self._array(n), place, near, self.many, single=self.single))
        return Give(name, value, tuple(loads), self.single, lifted, self.width, self.kind)

    def give(self, n: int, values: Sequence[Expression], stage: Stage) -> None:
        """Let stage *n* have *values*, one for each copy, of the dtype of its expression."""
        name = RowValue(n, stage.dtype)
        self.lines += self._for_copies(
            [(self._give(name, cast(each, stage.dtype), u),) for u, each in enumerate(values)]
        )

    def _lift(self, expressions: Sequence[Expression]) -> None:
        """Compute what does not change along the row before the loop."""
        found = invariant_parts(expressions, lambda node: isinstance(node, (Operand, Iota)))
        parts = [node for node in found if not isinstance(node, (Scalar, Literal))]
        if parts:
            self.lines += self._for_copies(
                [tuple([self._give(node, node, u, lifted=True) for node in parts]) for u in range(self.copies)]
            )

    # ------------------------------------------------------------------------------------------------ loops

    def _load(self, expressions: Sequence[Expression], u: int, count: Index) -> list[Node]:
        """What reads the operands' elements, those of vector *u* of a step."""
        found: list[Node] = []
        for leaf in sorted(self._read_by(expressions), key=lambda leaf: self.arrays[leaf]):
            assert isinstance(leaf, (Operand, Iota))
            n, near = self.arrays[leaf], self.near(self.arrays[leaf])
            packed = self.variant.pack > 1 and near == ONE
            place = var(f"p{n}") + var("j") if packed else self._element(n, u)
            found.append(Load(leaf, self._array(n), place, near, count, packed))
        return found

    def _read_by(self, expressions: Sequence[Expression]) -> set[Expression]:
        """The arrays' leaves that *expressions* read."""
        return set(leaves_of(*expressions)) & set(self.arrays)

    def _store(self, n: int, value: Expression, u: int, count: Index) -> Store:
        """What writes an element of result *n*."""
        if self.variant.pack > 1:
            return Store(self._array(n), value, var(f"p{n}") + var("j"), ONE, ONE, packed=True)
        return Store(self._array(n), value, self._element(n, u), self.near(n), count)

    def _around(self, body: Sequence[Node]) -> Body:
        """The body of a loop, of which *body* computes the element that `_load` read."""
        return tuple(body) if self.variant.pack == 1 else (Loop(nodes.PACK, "c", 0, self.variant.pack, tuple(body)),)

    def _strides(self, n: int) -> list[Index]:
        """The strides of array *n* along the outer dimensions of a row."""
        return [geometry(self.base(n) + 3 + self.kept + dim) for dim in range(self.reduced)]

    def _walk_shared(self, arrays: Sequence[int], rest: Body, before: Body, after: Body) -> None:
        """A pass over a row that several work items share: they count its elements through all of its dimensions."""
        items, pack = self.variant.row_items, self.variant.pack
        first, places, mine = var("first"), var("places"), var("member")
        begin, end = (first, var("last")) if before else (ZERO, places)
        element, found = var("e"), tuple[Node, ...]()
        if self.reduced:
            found = Let("line", element / geometry(3), changes=True), Let("j", element - var("line") * geometry(3))
        pointers = [Let(f"p{n}", var(f"q{n}"), changes=self.reduced > 0) for n in arrays]
        sizes = [geometry(5 + self.kept + dim) for dim in range(self.reduced)]
        line = nodes.recover("line", sizes, {f"p{n}": self._strides(n) for n in arrays})
        start = begin + (mine if pack == 1 else mine * number(pack))
        name, taken = "e" if self.reduced else "j", (*found, *pointers, *line, *rest)
        loop = Loop(nodes.SERIAL, name, start, end, taken, items * pack)
        if not before:
            self.lines.append(loop)
            return
        span = self.span * items
        body = Let("last", least(first + number(span), places)), *before, loop, *after
        self.lines.append(Loop(nodes.SERIAL, "first", ZERO, places, body, span))

    def _walk_alone(
        self, arrays: Sequence[int], rest: Body, whole: Body, step: int, before: Body, after: Body, loop: Loop
    ) -> None:
        """A pass over a row that a work item has to itself, or of rows that lie side by side; *loop* is what walks
        single elements.
        """
        first, last, lanes = var("first"), var("last"), self.lanes
        pointers: list[Node] = []
        for n in arrays:
            place: Index = var(f"q{n}")
            for dim, stride in enumerate(self._strides(n)):
                place = at(place, var(f"a{dim}"), stride)
            pointers.append(Let(f"p{n}", place))
        walk: list[Node] = list(before)
        if whole or lanes > 1:
            walk.append(Let("j", first, changes=True))
        if whole:
            walk.append(Loop(nodes.WHOLE, "j", 0, last, whole, step))
        if lanes == 1:
            walk.append(loop)
        elif self.across:
            walk.append(Loop(nodes.REST, "j", 0, last, rest))
        else:
            walk.append(Loop(nodes.REST, "j", 0, last, (rest_of_vector(lanes), *rest), lanes))
        walk += after
        body: Body
        if before:
            limit = Let("last", least(first + number(self.span), geometry(3)))
            body = (Loop(nodes.SERIAL, "first", ZERO, geometry(3), (limit, *walk), self.span),)
        else:
            body = (Block((Let("first", ZERO), Let("last", geometry(3)), *walk)),)
        body = (Block((*pointers, *body)),)
        for dim in range(self.reduced - 1, -1, -1):
            body = (Loop(nodes.SERIAL, f"a{dim}", ZERO, geometry(5 + self.kept + dim), body),)
        self.lines += body

    def _walk(
        self, leaves: set[Expression], written: Iterable[int], rest: Body, whole: Body = (), step: int = 1,
        before: Body = (), after: Body = (), sums: tuple[Accumulator, ...] | None = (),
    ) -> None:  # fmt: skip
        """A pass over the row that reads *leaves*, and writes the results with the numbers *written*.

        *whole* takes *step* elements, *rest* one or a vector of them. Segments begin with *before* and end with
        *after*; without, there are none. A compiler may make vectors of turns that accumulate in *sums*; None: not.
        """
        arrays = sorted({self.arrays[leaf] for leaf in leaves} | {*written})
        if self.variant.group > 1:
            self._walk_shared(arrays, rest, before, after)
            return
        kind = nodes.SERIAL if sums is None or self.inner is None else nodes.VECTOR
        loop = Loop(kind, "j", var("first"), var("last"), rest, accumulators=sums or ())
        self._walk_alone(arrays, rest, whole, step, before, after, loop)

    # ------------------------------------------------------------------------------------------------ reducing

    def reduce(self, stages: Sequence[tuple[int, Stage]], unroll: int, written: Stage | None = None) -> None:
        """A pass over the row in which all of *stages*, numbered, accumulate; the summands of the one that is *written*
        go to result number 0, where `written_summand` reads them.
        """
        if not stages:
            return
        expressions = [stage.expression for _, stage in stages]
        self._lift(expressions)
        if self.across:
            unroll = self.copies
        elif len(stages) > 2 or any(unroll_for(each) == 1 for each in expressions):
            unroll = 1
        totals, blocks = ([self._sums(name, n, each, unroll) for n, each in stages] for name in ("total", "block"))
        self.lines += [Begin(each, self.kind) for total in totals for each in total]
        whole: Body = ()
        if unroll > 1:
            full = number(self.lanes)
            whole = self._for_copies([self._accumulate(stages, blocks, u, full, written) for u in range(unroll)])
        rest = whole if self.copies > 1 else self._accumulate(stages, blocks, 0, self.many, written)
        joined = [
            Accumulate(total, block.local)
            for pair in zip(totals, blocks, strict=True)
            for total, block in zip(*pair, strict=True)
        ]
        marked = self.lanes == 1 and not self.across and not any(each.dtype.is_complex for each in expressions)
        self._walk(
            self._read_by(expressions), [0] if written else [], self._for_rows(rest), () if self.across else whole,
            self.lanes * unroll, tuple([Begin(each, self.kind) for block in blocks for each in block]),
            self._for_rows(joined), tuple([block[0] for block in blocks]) if marked else None,
        )  # fmt: skip
        for (n, stage), total in zip(stages, totals, strict=True):
            self.give(n, self._finish(n, total), stage)

    def _sums(self, name: str, n: int, stage: Stage, unroll: int) -> list[Accumulator]:
        """The accumulators of stage *n*, one for each vector of a step."""
        assert stage.reducer is not None
        dtype = stage.expression.dtype
        return [Accumulator(f"{name}{n}_", u, stage.reducer, dtype, self.width) for u in range(unroll)]

    def _accumulate(
        self, stages: Sequence[tuple[int, Stage]], blocks: Sequence[Sequence[Accumulator]], u: int, count: Index,
        written: Stage | None,
    ) -> Body:  # fmt: skip
        """Statements that take the *count* elements of vector *u* of a step."""
        found = self._load([stage.expression for _, stage in stages], u, count)
        masked = count if count == var("m") and self.lanes > 1 and not self.across else None
        for (_, stage), block in zip(stages, blocks, strict=True):
            if stage is written:
                found.append(self._store(0, stage.expression, u, count))
            found.append(Accumulate(block[u], stage.expression, count=masked))
        return self._around(found)

    def _finish(self, n: int, totals: Sequence[Accumulator]) -> list[Local]:
        """What all vectors and lanes, and all work items that share the row, add up to, for each copy."""
        sums = [total.local for total in totals]
        if self.across:
            return sums
        self.lines += [Accumulate(totals[0], each) for each in sums[1:]]
        if self.single:
            fold = Fold(totals[0], f"lane{n}_")
            self.lines.append(fold)
            return [fold.local]
        if self.variant.group > 1:
            shared, added = groups.add_up_row(totals[0], self.variant.row_items, self.variant.group, self.warp)
            self.shared.update(dict.fromkeys(shared))
            self.lines += added
        return sums[:1]

    # ------------------------------------------------------------------------------------------------ results

    def write_elements(self, elements: Sequence[Expression]) -> None:
        """A pass over the row that writes results number 0 and on."""
        for leaf in leaves_of(*elements):
            if leaf == written_summand(leaf.dtype):
                self.arrays[leaf] = 0
        self._lift(elements)
        copies = []
        for u in range(self.copies):
            stores = [self._store(n, each, u, self.many) for n, each in enumerate(elements)]
            computed = nodes.Compute(tuple(elements))
            copies.append(self._around([*self._load(elements, u, self.many), computed, *stores]))
        rest = self._for_rows(self._for_copies(copies))
        self._walk(self._read_by(elements), range(len(elements)), rest, sums=None if self.across else ())

    def write_rows(self, rows: Sequence[Expression], first: int) -> None:
        """Write results number *first* and on, a value a row."""
        lines: list[Node] = []
        for n, expression in enumerate(rows, first):
            apart, copies = self.near(n) if self.across else ONE, []
            for u in range(self.copies):
                place = self._beside(n, var(f"q{n}"), u)
                store = Store(self._array(n), expression, place, apart, self.many, single=self.single)
                copies.append((self._give(expression, expression, u), *self._for_rows([store])))
            lines += self._for_copies(copies)
        self.lines += [If(groups.first_of_row(), tuple(lines))] if lines and self.variant.group > 1 else lines

    def _head(self) -> Body:
        """Where the unit's row lies in every array."""
        unit, row, column, lines = var("unit"), var("row"), var("column"), list[Node]()
        if self.variant.group > 1:
            lines.append(Let("places", where(var("here"), geometry(4), ZERO)))
        blocks = self.lanes * self.copies * self.width if self.across else 1
        if self.kept:
            lines.append(Let("row", unit / geometry(1), changes=True))
            lines.append(Let("column", (unit - row * geometry(1)) * number(blocks)))
        else:
            lines.append(Let("column", unit * number(blocks)))
        if self.across and blocks > 1 and self.copies == 1:
            lines.append(rest_of_vector(blocks, geometry(2), column))
        for n in range(self.count):
            base = self.base(n)
            lines += [Let(f"k{n}", geometry(base + 1)), Let(f"r{n}", geometry(base + 2 + self.kept))]
            lines.append(Let(f"q{n}", geometry(base) + column * var(f"k{n}"), changes=True))
        strides = {f"q{n}": [geometry(self.base(n) + 2 + dim) for dim in range(self.kept)] for n in range(self.count)}
        return *lines, *nodes.recover("row", [geometry(5 + dim) for dim in range(self.kept)], strides)
