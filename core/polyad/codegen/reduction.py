"""The generator of reductions: `reduction` writes a kernel that makes many elements few, `reduction_plan` says how it
walks given arrays.

What is reduced is any expression, so that ``sum(x * y)`` reads x and y once. The iteration space has *kept* dimensions,
which the result has, and *reduced* ones; both are collapsed apart. A kernel goes either of two ways:

    along    vectors lie along the inner reduced dimension: sums of rows, or of everything
    across   vectors lie along the inner kept dimension: sums of columns

On CPUs, where the vectors lie densely and there are many, a step takes several, each with an accumulator of its own:
an addition need not wait for the one before, and the columns of a step fill whole cache lines.

The reduced dimensions are cut into segments of at most `SEGMENT` elements. Each is accumulated by itself and then added
to the total, which bounds how rounding errors grow; vectors have an accumulator a lane besides. Where there are fewer
results than work items, the segments are shared out in *splits*, and a second pass reduces their partial results. That,
and not barriers, is how work is shared on CPUs, and among the workgroups of a GPU: it is deterministic.

On GPUs, several work items walk a split along, so that neighbours read what lies side by side, see
`polyad.codegen.workgroups`. They count its elements through all of the reduced dimensions, in segments of their own.

The geometry, as in `elementwise`; where work items share a split, the third and the fourth number count elements:

    units, splits, segments a split, segments, chunks, chunk, inner reduced length, kept blocks a row,
    inner kept length,
    outer kept sizes, outer reduced sizes,
    the result: offset, inner kept stride, outer kept strides, stride from one split to the next
    then for every operand: offset, inner kept stride, outer kept strides, inner reduced stride, outer reduced strides
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.dtypes import DType
from ..base.layout import Shape, Strides
from .accumulators import (
    SEGMENT,
    Accumulators,
    check_reducer,
    fold_lanes,
    for_columns,
    reduction_clause,
    symmetric,
    unroll_for as unroll_for,
)
from .collapse import inner_first
from .dialects import Dialect
from .elementwise import known_inner
from .expression import Expression, Local, Operand, cast
from .frame import (
    KernelSource,
    Leaves,
    Parameters,
    declare_scalars,
    factor,
    independent,
    kernel_source,
    lanes_for,
    load_operand,
    neighbouring,
)
from .hardware import CPU, DeviceDescription
from .packs import Packs, packs_fit
from .variants import STRIDED, WIDTH, Space, Variant, nearness
from .workgroups import add_up_row, choose_workgroup, declare_members, walk_rows
from .writer import Writer, computed_in

_BAND = 16
"""Rows that a reduction across accumulates before they join the total: few enough for a processor to prefetch each."""

_TALL = 1 << 21
"""Elements from which a reduction across makes a split of every `_BAND` rows: what the second pass then reads is a
sixteenth of what the first one reads.
"""


def reduction(
    expression: Expression,
    reducer: str,
    dialect: Dialect,
    device: DeviceDescription | None = None,
    *,
    result: DType | None = None,
    variant: Variant = STRIDED,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that reduces *expression*, in whose dtype it accumulates.

    Args:
        expression: what is reduced.
        reducer: a key of `polyad.codegen.accumulators.COMBINED_BY`.
        dialect, device: the language, and what decides the number of lanes.
        result: the dtype that is written; by default the expression's.
        variant: what the arrays' `ReductionPlan` says.
        name: of the kernel function.

    Raises ValueError for an unknown reducer, NotImplementedError for one that the dtype lacks, and what `elementwise`
    raises.

    >>> import polyad
    >>> from polyad.codegen import OPENCL_C, Operand
    >>> x, y = Operand(0, polyad.float32), Operand(1, polyad.float32)
    >>> reduction(x * y, "sum", OPENCL_C).lanes
    8
    """
    check_reducer(reducer, expression.dtype)
    device = device or DeviceDescription()
    result = result or expression.dtype
    leaves = Leaves.of([expression])
    lanes = lanes_for([expression, cast(expression, result)], dialect, device)
    parameters = Parameters.of(dialect, [result], leaves)
    text = _ReductionText(expression, reducer, dialect, leaves, lanes, result, variant)
    body = text.body()
    return kernel_source(
        dialect, name, parameters, text.base(1 + len(leaves.operands)), text.writer.functions.values(),
        (*text.lifted, *body), lanes=lanes, rank=variant.kept_rank, group=variant.group,
    )  # fmt: skip


class _ReductionText:
    """The statements of a kernel. In the geometry, the result is array number 0, and the operands are 1 and on."""

    def __init__(
        self,
        expression: Expression,
        reducer: str,
        dialect: Dialect,
        leaves: Leaves,
        lanes: int,
        result: DType,
        variant: Variant,
    ) -> None:
        self.expression, self.reducer, self.dialect, self.leaves = expression, reducer, dialect, leaves
        self.lanes, self.dtype, self.result, self.variant = lanes, expression.dtype, result, variant
        self.across, self.inner = variant.across, variant.inner
        self.index = dialect.wide
        self.kept, self.reduced = variant.kept_rank - 1, variant.reduced_rank - 1
        self.operands = range(1, 1 + len(leaves.operands))
        self.width, self.unroll = (variant.unroll, 1) if self.across and lanes == 1 else (1, variant.unroll)
        self.writer = Writer(dialect, lanes)
        declare_scalars(self.writer, leaves.scalars)
        self.lifted, self._scalars = self.writer.lines, dict(self.writer.known)
        self.sums = Accumulators(self.writer, reducer, self.dtype, self.unroll, self.inner, self.width)

    def base(self, n: int) -> int:
        """Where the geometry has array *n*; the result has no reduced strides, but one between splits."""
        head = 9 + self.kept + self.reduced
        return head + (3 + self.kept + (n - 1) * (3 + self.kept + self.reduced) if n else 0)

    def near(self, n: int) -> str:
        """The stride of operand *n* along vectors."""
        return f"{'k' if self.across else 'r'}{n}" if self.inner is None else str(self.inner[n - 1])

    def body(self) -> list[str]:
        """All statements, but for those that declare numbers."""
        whole = [line for u in range(self.unroll) for line in self._take(u, str(self.lanes))] if self.unroll > 1 else []
        rest = [] if self.across and whole else self._take(0, "m")
        join = self.sums.join_blocks(self.writer)
        rest, join = (for_columns(self.dialect, self.inner, self.width, lines) for lines in (rest, join))
        fold = self.sums.fold_totals(self.writer)
        head = [*self._head(), *(f"    {line}" for line in self.sums.declare(self.sums.totals))]
        if self.variant.group > 1:
            return [*head, *(f"    {line}" for line in (*self._share_split(rest, join), *self._store_shared())), "}"]
        lines = [*self._walk_split(whole, rest, join), *self._store(fold)]
        return [*head, *(f"    {line}" for line in lines), "}"]

    # ------------------------------------------------------------------------------------------------ elements

    def _take(self, u: int, count: str) -> list[str]:
        """Statements that take the *count* elements of vector *u* of a step into block *u*."""
        writer = self.writer
        writer.lines, writer.known = [], dict(self._scalars)
        along = f"(j + {u * self.lanes})" if u else "j"
        for n, operand in enumerate(self.leaves.operands, 1):
            near = self.near(n)
            place = f"p{n} + {along} * {near}"
            if self.across:
                place = f"p{n} + j * r{n} + {'c' if self.width > 1 else u * self.lanes} * {near}"
            if factor(operand.dtype) > 1:
                place = f"2 * ({place})"
            elif not isinstance(operand, Operand):
                place = f"({place})"
            writer.known[operand] = load_operand(writer, operand, f"in{n - 1}", place, near, count)
        values = writer.value(self.expression)
        if count == "m" and self.lanes > 1 and not self.across:
            values = self.sums.mask(writer, values)
        return self.sums.add(writer, self.sums.blocks[u], values)

    def _take_pack(self) -> list[str]:
        """Statements that take the elements of a pack, from j on, into the first block."""
        writer = self.writer
        writer.lines, writer.known = [], dict(self._scalars)
        packs = Packs(writer, self.variant.pack)
        for n, operand in enumerate(self.leaves.operands, 1):
            pointer, place = f"in{n - 1}", f"p{n}" if self.near(n) == "0" else f"(p{n} + j + c)"
            if isinstance(operand, Operand) and self.near(n) == "1":
                pointer, place = packs.load(operand.dtype, f"pack{n}", f"{pointer} + p{n} + j"), "c"
            writer.known[operand] = load_operand(writer, operand, pointer, place, "1", "1")
        values = writer.value(self.expression)
        return packs.around(self.sums.add(writer, self.sums.blocks[0], values))

    # ------------------------------------------------------------------------------------------------ loops

    def _head(self) -> list[str]:
        """The loop over units, and where the unit's result and its operands' elements begin."""
        variant, index = self.variant, self.index
        lines = [f"const {index} wholes = g.at[0] / g.at[1];"]
        if variant.group == 1:
            lines += neighbouring(self.dialect)
        else:
            lines += declare_members(self.dialect, variant.row_items, variant.group)
            lines += walk_rows(self.dialect, variant.row_items, variant.group)
        together = self.lanes * self.unroll * self.width if self.across else 1
        # Units of one split are neighbours, so that what they read lies together.
        lines += [
            f"    const {index} split = unit / wholes, whole = unit - split * wholes;",
            f"    {index} row = whole / g.at[7], column = (whole - row * g.at[7]) * {together};",
        ]
        if self.across and self.unroll > 1:
            # The last columns of a row: some are computed twice, so that there is no partly filled vector.
            lines.append(f"    if (column > g.at[8] - {together}) column = g.at[8] - {together};")
        elif self.across:
            lines.append(f"    const int m = g.at[8] - column < {together} ? (int)(g.at[8] - column) : {together};")
        out = self.base(0)
        lines.append(f"    {index} o = g.at[{out}] + column * g.at[{out + 1}] + split * g.at[{out + 2 + self.kept}];")
        for n in self.operands:
            base = self.base(n)
            lines.append(
                f"    {index} q{n} = g.at[{base}] + column * g.at[{base + 1}]; const {index} k{n} = g.at[{base + 1}], "
                f"r{n} = g.at[{base + 2 + self.kept}];"
            )
        for dim in range(self.kept - 1, -1, -1):
            size = f"g.at[{9 + dim}]"
            lines.append(f"    {{ const {index} rest = row / {size}, at = row - rest * {size}; row = rest;")
            lines.append(f"      o += at * g.at[{out + 2 + dim}];")
            lines += [f"      q{n} += at * g.at[{self.base(n) + 2 + dim}];" for n in self.operands]
            lines.append("    }")
        return lines

    def _walk_line(self, indent: str = "") -> list[str]:
        """Statements that find where line number ``line`` of the outer reduced dimensions begins in each operand."""
        lines = []
        for dim in range(self.reduced - 1, -1, -1):
            size = f"g.at[{9 + self.kept + dim}]"
            lines.append(f"{{ const {self.index} rest = line / {size}, at = line - rest * {size}; line = rest;")
            far = 3 + self.kept + dim
            lines += [*(f"{indent}p{n} += at * g.at[{self.base(n) + far}];" for n in self.operands), "}"]
        return lines

    def _walk_split(self, whole: Sequence[str], rest: Sequence[str], join: Sequence[str]) -> list[str]:
        """The loop of a work item over the segments of its split."""
        index, lanes = self.index, self.lanes
        lines = [
            f"{index} line = segment / g.at[4]; const {index} first = (segment - line * g.at[4]) * g.at[5];",
            f"const {index} last = first + g.at[5] < g.at[6] ? first + g.at[5] : g.at[6];",
            *(f"{index} p{n} = q{n};" for n in self.operands),
            *self._walk_line("  "),
            *self.sums.declare(self.sums.blocks),
        ]
        each = f"for ({index} j = first; j < last; ++j) {{"
        if self.across:
            lines += [each, *(f"    {line}" for line in whole or rest), "}"]
        elif lanes == 1 and not self.dtype.is_complex:
            clause = reduction_clause(self.writer, self.reducer, self.dtype, self.sums.blocks[0])
            lines += [*independent(self.dialect, self.inner, clause), each, *(f"    {line}" for line in rest), "}"]
        else:
            lines.append(f"{index} j = first;")
            if whole:
                step = lanes * self.unroll
                lines += [f"for (; j + {step} <= last; j += {step}) {{", *(f"    {line}" for line in whole), "}"]
            lines.append(f"for (; j < last; j += {lanes}) {{")
            if lanes > 1:
                lines.append(f"    const int m = last - j < {lanes} ? (int)(last - j) : {lanes};")
            lines += [*(f"    {line}" for line in rest), "}"]
        return [
            f"const {index} from = split * g.at[2], to = from + g.at[2] < g.at[3] ? from + g.at[2] : g.at[3];",
            f"for ({index} segment = from; segment < to; ++segment) {{",
            *(f"    {line}" for line in (*lines, *join)),
            "}",
        ]

    def _share_split(self, rest: Sequence[str], join: Sequence[str]) -> list[str]:
        """The loop of the work items that share a split, and the sum of what they found."""
        variant, index, items, pack = self.variant, self.index, self.variant.row_items, self.variant.pack
        span = SEGMENT * items
        lines = [
            f"const {index} from = here ? split * g.at[2] : 0;",
            f"const {index} to = !here ? 0 : from + g.at[2] < g.at[3] ? from + g.at[2] : g.at[3];",
            f"for ({index} first = from; first < to; first += {span}) {{",
            f"const {index} last = first + {span} < to ? first + {span} : to;",
            *self.sums.declare(self.sums.blocks),
        ]
        begin = "first"
        if pack > 1:
            begin = "whole_"
            lines += [
                f"const {index} whole_ = first + (last - first) / {pack} * {pack};",
                f"for ({index} j = first + member * {pack}; j < whole_; j += {items * pack}) {{",
                *(f"const {index} p{n} = q{n};" for n in self.operands),
                *self._take_pack(),
                "}",
            ]
        counted = "e" if self.reduced else "j"
        lines.append(f"for ({index} {counted} = {begin} + member; {counted} < last; {counted} += {items}) {{")
        if self.reduced:
            lines.append(f"{index} line = e / g.at[6]; const {index} j = e - line * g.at[6];")
        lines += [*(f"{index} p{n} = q{n};" for n in self.operands), *self._walk_line(), *rest, "}", *join, "}"]
        self.writer.lines = []
        sums = self.sums
        shared: list[str] = []
        lines += add_up_row(
            self.dialect, items, variant.group, self.dialect.types[computed_in(self.dtype)], sums.totals[0],
            lambda into, others: sums.add(self.writer, into, others), shared, symmetric(self.reducer, self.dtype),
        )  # fmt: skip
        self.lifted = [*self.lifted, *shared]
        return lines

    # ------------------------------------------------------------------------------------------------ results

    def _store_shared(self) -> list[str]:
        """The first of the work items that share a split writes the result."""
        self.writer.lines = []
        values = self.writer.value(cast(Local(tuple(self.sums.totals[0]), self.dtype), self.result))
        place = "2 * o" if self.result.is_complex else "o"
        stored = self.writer.store(self.result, values, f"out0 + {place}", "1", "1")
        return ["if (member == 0 && here) {", *self.writer.lines, *stored, "}"]

    def _store(self, fold: Sequence[str]) -> list[str]:
        """What is written of the totals; along vectors, after their lanes are one number."""
        totals = [tuple(total) for total in self.sums.totals]
        single, lines = self.writer, []
        if not self.across and self.lanes > 1:
            single = Writer(self.dialect, 1, self.writer.functions, prefix="u")
            packed = self.writer.packed(computed_in(self.dtype), "")
            element, text = fold_lanes(single, totals[0], packed, self.lanes, self.reducer, self.dtype)
            totals, lines = [element], [*fold, *text]
        stride = f"g.at[{self.base(0) + 1}]"
        apart = "1" if self.across and self.inner is not None else stride
        for u, names in enumerate(totals):
            single.lines = []
            values = single.value(cast(Local(names, self.dtype), self.result))
            place = f"o + {u * self.lanes}" if u else f"o + c * {stride}" if self.width > 1 else "o"
            pointer = f"out0 + {f'2 * ({place})' if self.result.is_complex else place}"
            stored = single.store(self.result, values, pointer, apart, str(self.lanes) if self.unroll > 1 else "m")
            lines += for_columns(self.dialect, self.inner, self.width, [*single.lines, *stored])
        return lines


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """How a reduction walks given arrays.

    Attributes:
        variant: which kernel; its *inner* are the operands' strides, and, across, only where results are dense too.
        instances: how many work items to launch, a multiple of the group.
        geometry: the kernel's last argument.
        splits: partial results for each result; more than 1 asks for a second pass over them, whose input has the
            shape (splits, *kept).
    """

    variant: Variant
    instances: int
    geometry: bytes
    splits: int


def reduction_plan(
    lanes: int,
    device: DeviceDescription,
    shape: Shape,
    dims: Sequence[int],
    operands: Sequence[Strides],
    offsets: Sequence[int],
    *,
    result: Strides,
    result_offset: int = 0,
    may_split: bool = True,
    unroll: int = 1,
    pack: int = 1,
) -> ReductionPlan:
    """How to reduce *dims* of *shape*, of which none may be 0.

    Args:
        lanes: of the kernel.
        device: decides how the work is shared out.
        shape: of the iteration space.
        dims: the reduced ones, sorted.
        operands, offsets: strides along *shape*, 0 where an operand is broadcast, and offsets, in elements.
        result, result_offset: the result's strides along the kept dimensions, and offset, in elements.
        may_split: whether partial results have somewhere to go: with splits, those of a split are written as the
            result would be, and the next split's as many elements further on as there are results.
        unroll: vectors a step, where they are dense and many: what `unroll_for` says.
        pack: at most how many elements are read at once, where they are dense: what `pack_for` says.

    >>> plan = reduction_plan(8, DeviceDescription(), (4, 6), [1], [(6, 1)], [0], result=(1,))
    >>> plan.variant.across, plan.splits
    (False, 1)
    """
    stay = [dim for dim in range(len(shape)) if dim not in dims]
    kept = [*(tuple([strides[dim] for dim in stay]) for strides in operands), tuple(result)]
    space = Space.of(shape, dims, kept, [tuple([strides[dim] for dim in dims]) for strides in operands])
    columns, length = space.kept_sizes[-1], space.reduced_sizes[-1]
    across = columns > 1 and nearness(space.kept[:-1], columns) > nearness(space.reduced, length)
    chunk = min(_BAND if across else SEGMENT, length)
    if not across and chunk < length:
        chunk = -(-chunk // lanes) * lanes
    shared = None if across else _share_rows(device, space, offsets, may_split, pack)
    variant, segments, share = shared or _cut_rows(lanes, device, space, across, chunk, may_split, unroll)
    splits = -(-segments // share)
    side = lanes * variant.unroll if across else 1
    blocks = -(-columns // side)
    units = math.prod(space.kept_sizes[:-1]) * blocks * splits
    numbers = [units, splits, share, segments, -(-length // chunk), chunk, length, blocks, columns]
    numbers += [*space.outer_sizes(), result_offset, *inner_first(space.kept[-1], space.kept_rank)]
    numbers.append(math.prod(space.kept_sizes))
    for offset, near, far in zip(offsets, space.kept[:-1], space.reduced, strict=True):
        numbers += [offset, *space.inner_first(near, far)]
    instances = units
    if variant.group > 1:
        groups = -(-units * variant.row_items // variant.group)
        instances = variant.group * min(groups, max(1, 2 * device.workers // variant.group))
    elif device.kind == CPU:
        # Short rows: a work item takes several.
        instances = max(1, min(units, units * share * chunk * side // (4 * SEGMENT), 4 * device.workers))
    return ReductionPlan(variant, instances, struct.pack(f"{len(numbers)}q", *numbers), splits)


def _cut_rows(
    lanes: int, device: DeviceDescription, space: Space, across: bool, chunk: int, may_split: bool, unroll: int
) -> tuple[Variant, int, int]:
    """How work items reduce segments of *chunk* by themselves: the kernel, the segments of a row, those of a split."""
    columns, elements = space.kept_sizes[-1], math.prod(space.kept_sizes) * math.prod(space.reduced_sizes)
    inner = None
    if device.kind == CPU:
        written_first = [space.kept[-1], *space.kept[:-1]]
        inner = known_inner(written_first if across else space.reduced, lanes, int(across), elements)
    if lanes == 1 and device.kind == CPU:
        unroll = WIDTH if across else 1
    elif inner is None or (columns if across else chunk) < unroll * lanes:
        unroll = 1
    inner = inner and inner[int(across) :]
    segments = math.prod(space.reduced_sizes[:-1]) * -(-space.reduced_sizes[-1] // chunk)
    wholes = math.prod(space.kept_sizes[:-1]) * (-(-columns // (lanes * unroll)) if across else columns)
    wanted = device.workers if device.kind == CPU else device.workers // 4
    splits = 1
    if may_split and wholes < wanted and segments > 1 and elements >= 8 * SEGMENT:
        splits = min(segments, -(-wanted // wholes))
    elif may_split and across and wholes > 1 and elements >= _TALL:
        splits = segments
    return Variant(across, space.kept_rank, space.reduced_rank, inner, unroll), segments, -(-segments // splits)


def _share_rows(
    device: DeviceDescription, space: Space, offsets: Sequence[int], may_split: bool, pack: int
) -> tuple[Variant, int, int] | None:
    """How several work items share a row: the kernel, the elements of a row, and those of a split. None if they do not,
    as on CPUs.
    """
    length, results = math.prod(space.reduced_sizes), math.prod(space.kept_sizes)
    row_items, group = choose_workgroup(device, length, results)
    if group == 1:
        return None
    share = length
    if may_split and results * row_items < device.workers // 4 and length >= 8 * SEGMENT:
        # A few workgroups for each multiprocessor.
        splits = min(length // (4 * SEGMENT), -(-4 * device.compute_units // results))
        share = -(-length // splits)
        share = -(-share // SEGMENT) * SEGMENT
        row_items, group = choose_workgroup(device, share, results * splits)
    inner = known_inner(space.reduced, 1, 0, length) if pack > 1 and len(space.reduced_sizes) == 1 else None
    begins = [(*far, *near) for far, near in zip(space.kept[:-1], space.reduced, strict=True)]
    if inner is None or not packs_fit(pack, begins, offsets):
        inner, pack = None, 1
    return Variant(False, space.kept_rank, space.reduced_rank, inner, 1, row_items, group, pack), length, share
