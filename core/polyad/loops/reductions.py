"""The schedule of reductions: loops that make many elements few, along vectors or across them."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.dtypes import DType
from ..codegen.accumulators import SEGMENT
from ..codegen.expression import Expression, Iota, Operand, cast, where
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
    If,
    Index,
    Let,
    Load,
    Loop,
    Node,
    Set,
    Store,
    at,
    geometry,
    least,
    number,
    var,
)  # fmt: skip


class Reduction:
    """How a kernel of `polyad.codegen.reduction` reduces. In the geometry, the result is array number 0, and the
    operands are 1 and on.

    *warp* is how many work items exchange values without memory.
    """

    def __init__(
        self,
        expression: Expression,
        reducer: str,
        operands: Sequence[Operand | Iota],
        result: DType,
        lanes: int,
        variant: Variant,
        warp: int,
    ) -> None:
        self.expression, self.operands, self.result, self.lanes = expression, operands, result, lanes
        self.variant, self.across, self.inner, self.warp = variant, variant.across, variant.inner, warp
        self.kept, self.reduced = variant.kept_rank - 1, variant.reduced_rank - 1
        self.arrays = range(1, 1 + len(operands))
        # Without vectors, across, the columns side by side are arrays' elements.
        self.width, self.unroll = (variant.unroll, 1) if self.across and lanes == 1 else (1, variant.unroll)
        self.kind = nodes.SERIAL if variant.inner is None else nodes.VECTOR
        self.totals, self.blocks = (
            [Accumulator(name, u, reducer, expression.dtype, self.width) for u in range(self.unroll)]
            for name in ("total", "block")
        )

    def base(self, n: int) -> int:
        """Where the geometry has array *n*; the result has no reduced strides, but one between splits."""
        head = 9 + self.kept + self.reduced
        return head + (3 + self.kept + (n - 1) * (3 + self.kept + self.reduced) if n else 0)

    def near(self, n: int) -> Index:
        """The stride of operand *n* along vectors."""
        return var(f"{'k' if self.across else 'r'}{n}") if self.inner is None else number(self.inner[n - 1])

    def body(self) -> Body:
        """The kernel's statements."""
        variant = self.variant
        begins = [Begin(total, self.kind) for total in self.totals]
        wholes = Let("wholes", geometry(0) / geometry(1))
        if variant.group == 1:
            unit = (*self._head(), *begins, *self._walk_split(), *self._store())
            return wholes, Loop(nodes.ROWS, "unit", 0, geometry(0), unit)
        shared, added = groups.add_up_row(self.totals[0], variant.row_items, variant.group, self.warp)
        value = cast(self.totals[0].local, self.result)
        store = If(groups.first_of_row(), (Store("out0", value, var("o"), ONE, ONE),))
        unit = (*self._head(), *begins, *self._share_split(), *added, store)
        return *shared, wholes, groups.walk_rows(unit, variant.row_items, variant.group)

    # ------------------------------------------------------------------------------------------------ elements

    def _take(self, u: int, count: Index, packs: bool = False) -> Body:
        """Statements that take the *count* elements of vector *u* of a step into block *u*, or element c of *packs*."""
        found: list[Node] = []
        j = var("j") + number(u * self.lanes) if u else var("j")
        for n, operand in enumerate(self.operands, 1):
            near = self.near(n)
            place = at(var(f"p{n}"), j, near)
            if self.across:
                place = at(var(f"p{n}"), var("j"), var(f"r{n}"))
                if self.width > 1 or u:
                    place = at(place, var("c") if self.width > 1 else number(u * self.lanes), near)
            found.append(Load(operand, f"in{n - 1}", place, near, count, packed=packs and near == ONE))
        masked = count if count == var("m") and self.lanes > 1 and not self.across else None
        return *found, Accumulate(self.blocks[u], self.expression, count=masked)

    def _steps(self) -> tuple[Body, Body]:
        """Statements that take a whole step, and those that take what is left of one."""
        whole: Body = ()
        if self.unroll > 1:
            whole = tuple([Block(self._take(u, number(self.lanes)), u) for u in range(self.unroll)])
        rest = whole if self.across and whole else self._take(0, var("m") if self.lanes > 1 else ONE)
        return whole, self._for_columns(rest)

    def _for_columns(self, body: Body) -> Body:
        return body if self.width == 1 else (nodes.over_columns(self.kind, body),)

    def _join_blocks(self) -> Body:
        """Statements that add the blocks to the totals."""
        pairs = zip(self.totals, self.blocks, strict=True)
        return self._for_columns(tuple([Accumulate(total, block.local) for total, block in pairs]))

    # ------------------------------------------------------------------------------------------------ loops

    def _head(self) -> Body:
        """Where the unit's result and its operands' elements begin."""
        together = number(self.lanes * self.unroll * self.width if self.across else 1)
        columns, out = geometry(8), self.base(0)
        whole, row, column, split = var("whole"), var("row"), var("column"), var("split")
        body: list[Node] = [
            # Units of one split are neighbours, so that what they read lies together.
            Let("split", var("unit") / var("wholes")),
            Let("whole", var("unit") - split * var("wholes")),
            Let("row", whole / geometry(7), changes=True),
            Let("column", (whole - row * geometry(7)) * together, changes=True),
        ]
        if self.across and self.unroll > 1:
            # The last columns of a row: some are computed twice, so that there is no partly filled vector.
            body.append(If(column > columns - together, (Set("column", columns - together),)))
        elif self.across:
            body.append(rest_of_vector(self.lanes * self.width, columns, column))
        begin = geometry(out) + column * geometry(out + 1) + split * geometry(out + 2 + self.kept)
        body.append(Let("o", begin, changes=True))
        for n in self.arrays:
            base = self.base(n)
            body += [
                Let(f"q{n}", geometry(base) + column * geometry(base + 1), changes=True),
                Let(f"k{n}", geometry(base + 1)),
                Let(f"r{n}", geometry(base + 2 + self.kept)),
            ]
        places = {"o": out, **{f"q{n}": self.base(n) for n in self.arrays}}
        strides = {name: [geometry(base + 2 + dim) for dim in range(self.kept)] for name, base in places.items()}
        return *body, *nodes.recover("row", [geometry(9 + dim) for dim in range(self.kept)], strides)

    def _walk_line(self) -> Body:
        """Statements that find where line number ``line`` of the outer reduced dimensions begins in each operand."""
        far = {n: self.base(n) + 3 + self.kept for n in self.arrays}
        strides = {f"p{n}": [geometry(far[n] + dim) for dim in range(self.reduced)] for n in self.arrays}
        lines = [Let(f"p{n}", var(f"q{n}"), changes=True) for n in self.arrays]
        sizes = [geometry(9 + self.kept + dim) for dim in range(self.reduced)]
        return *lines, *nodes.recover("line", sizes, strides)

    def _walk_split(self) -> Body:
        """The loop of a work item over the segments of its split."""
        segment, line, first, last, lanes = var("segment"), var("line"), var("first"), var("last"), self.lanes
        whole, rest = self._steps()
        body: list[Node] = [
            Let("line", segment / geometry(4), changes=True),
            Let("first", (segment - line * geometry(4)) * geometry(5)),
            Let("last", least(first + geometry(5), geometry(6))),
            *self._walk_line(),
            *(Begin(block, self.kind) for block in self.blocks),
        ]
        if self.across:
            body.append(Loop(nodes.SERIAL, "j", first, last, rest))
        elif lanes == 1 and not self.expression.dtype.is_complex:
            body.append(Loop(self.kind, "j", first, last, rest, accumulators=(self.blocks[0],)))
        else:
            body.append(Let("j", first, changes=True))
            if whole:
                body.append(Loop(nodes.WHOLE, "j", 0, last, whole, lanes * self.unroll))
            body.append(Loop(nodes.REST, "j", 0, last, (rest_of_vector(lanes), *rest) if lanes > 1 else rest, lanes))
        begin, end = var("from"), var("to")
        return (
            Let("from", var("split") * geometry(2)),
            Let("to", least(begin + geometry(2), geometry(3))),
            Loop(nodes.SERIAL, "segment", begin, end, (*body, *self._join_blocks())),
        )

    def _share_split(self) -> Body:
        """The loop of the work items that share a split."""
        items, pack, here, member = self.variant.row_items, self.variant.pack, var("here"), var("member")
        begin, end, first, last = var("from"), var("to"), var("first"), var("last")
        span, whole = number(SEGMENT * items), var("whole_")
        body: list[Node] = [Let("last", least(first + span, end)), *(Begin(block, self.kind) for block in self.blocks)]
        if pack > 1:
            packed = Loop(nodes.PACK, "c", 0, pack, self._take(0, ONE, packs=True))
            body += [
                Let("whole_", first + (last - first) / number(pack) * number(pack)),
                Loop(
                    nodes.SERIAL, "j", first + member * number(pack), whole,
                    (*(Let(f"p{n}", var(f"q{n}")) for n in self.arrays), packed), items * pack,
                ),
            ]  # fmt: skip
        element, line = var("e"), var("line")
        found: tuple[Node, ...] = ()
        if self.reduced:
            found = Let("line", element / geometry(6), changes=True), Let("j", element - line * geometry(6))
        start = whole if pack > 1 else first
        taken = (*found, *self._walk_line(), *self._steps()[1])
        body.append(Loop(nodes.SERIAL, "e" if self.reduced else "j", start + member, last, taken, items))
        return (
            Let("from", where(here, var("split") * geometry(2), ZERO)),
            Let("to", where(nodes.same(here, ZERO), ZERO, least(begin + geometry(2), geometry(3)))),
            Loop(nodes.SERIAL, "first", begin, end, (*body, *self._join_blocks()), SEGMENT * items),
        )

    # ------------------------------------------------------------------------------------------------ results

    def _store(self) -> Body:
        """What is written of the totals; along vectors, after their lanes are one number."""
        stride, folds = geometry(self.base(0) + 1), not self.across and self.lanes > 1
        apart = ONE if self.across and self.inner is not None else stride
        body: list[Node] = []
        sums = [total.local for total in self.totals]
        if folds:
            body += [Accumulate(self.totals[0], each) for each in sums[1:]]
            fold = Fold(self.totals[0], "lane")
            body.append(fold)
            sums = [fold.local]
        for u, total in enumerate(sums):
            place: Index = var("o") + number(u * self.lanes) if u else var("o")
            count = number(self.lanes) if self.unroll > 1 else var("m") if self.lanes > 1 else ONE
            if self.width > 1:
                place = at(place, var("c"), stride)
            body += self._for_columns((Store("out0", cast(total, self.result), place, apart, count, single=folds),))
        return tuple(body)
