"""The generator of reductions: `reduction` writes a kernel that makes many elements few, `reduction_plan` says how it
walks given arrays.

What is reduced is any expression, so that ``sum(x * y)`` reads x and y once. The iteration space has *kept* dimensions,
which the result has, and *reduced* ones; both are collapsed apart. A kernel has either of two shapes:

    along    vectors lie along the inner reduced dimension: sums of rows, or of everything
    across   vectors lie along the inner kept dimension: sums of columns

On CPUs, where the vectors lie densely and there are many, a step takes several, each with an accumulator of its own:
an addition need not wait for the one before, and the columns of a step fill whole cache lines.

The reduced dimensions are cut into segments of at most `SEGMENT` elements. Each is accumulated by itself and then added
to the total, which bounds how rounding errors grow; vectors have an accumulator a lane besides. Where there are fewer
results than instances, the segments are shared out in *splits*, and a second pass reduces their partial results. That,
and not barriers, is how work is shared on CPUs, and among the groups of a GPU: it is deterministic.

On GPUs, a team of instances walks a split along, so that neighbours read what lies side by side, see
`polyad.codegen.teams`. Its places are counted through all of the reduced dimensions, in segments of their own.

The geometry, as in `elementwise`; for a team, the third and the fourth number count places:

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

from ..base.dtypes import BOOL, FLOATING, DType, iinfo
from ..base.layout import Shape, Strides
from ..errors import ArgumentError, NotSupported
from .collapse import by_memory
from .complex_numbers import LOWERED
from .dialects import Dialect
from .elementwise import known_inner
from .expression import Apply, Expression, Local, Operand, apply, cast
from .formulas import formula, is_cheap
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
    padded_rank,
)
from .hardware import CPU, DeviceDescription
from .packs import Packs, packs_fit
from .teams import added_up, numbered, team_for, walk
from .writer import Writer, computed_in, letter_of

SEGMENT = 1024
"""Elements that are accumulated before they join the total."""

UNROLLED = 4
"""Vectors a step: a chain of additions has a latency of four."""

_FEW = 8
"""Ops on an element that hide no latency."""

WIDTH = 64
"""Columns side by side that are walked together where there are no vectors."""

_BAND, _TALL = 16, 1 << 21
"""Rows of which columns are reduced before they join the total, and the elements from which each such band is a split:
its rows are so few that the processor fetches ahead in each of them, and what it makes is a sixteenth.
"""

COMBINED_BY = {
    "sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum", "any": "maximum", "all": "minimum",
}  # fmt: skip
"""The op that combines two elements, by reduction."""


def identity(reducer: str, dtype: DType) -> bool | int | float:
    """What changes no element: the result of reducing nothing.

    >>> import polyad
    >>> identity("amax", polyad.int8), identity("prod", polyad.float32)
    (-128, 1)
    """
    if reducer in ("sum", "any"):
        return 0
    if reducer in ("prod", "all"):
        return 1
    if dtype.category == BOOL:
        return reducer == "amin"
    if dtype.category == FLOATING:
        return -math.inf if reducer == "amax" else math.inf
    return iinfo(dtype).min if reducer == "amax" else iinfo(dtype).max


def check_reducer(reducer: str, dtype: DType) -> None:
    """Raises ValueError for an unknown reducer, NotImplementedError for one that *dtype* does not have."""
    if reducer not in COMBINED_BY:
        raise ArgumentError(f"codegen: no reduction {reducer}", fix=f"use one of {', '.join(COMBINED_BY)}")
    if dtype.is_complex and COMBINED_BY[reducer] not in LOWERED:
        raise NotSupported(f"codegen: {reducer} of {dtype.name}", fix="reduce the real and imaginary parts")


def reduction(
    expression: Expression,
    reducer: str,
    dialect: Dialect,
    device: DeviceDescription | None = None,
    *,
    result: DType | None = None,
    across: bool = False,
    kept_rank: int = 1,
    reduced_rank: int = 1,
    inner: Strides | None = None,
    unroll: int = 1,
    team: int = 1,
    group: int = 1,
    pack: int = 1,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that reduces *expression*, in whose dtype it accumulates.

    Args:
        expression: what is reduced.
        reducer: a key of `COMBINED_BY`.
        dialect, device: the language, and what decides the number of lanes.
        result: the dtype that is written; by default the expression's.
        across, kept_rank, reduced_rank, inner, unroll, team, group, pack: what the arrays' `ReductionPlan` says.
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
    leaves = Leaves.of([expression])
    dtype = expression.dtype
    result = result or dtype
    lanes = lanes_for([expression, cast(expression, result)], dialect, device)
    parameters = Parameters.of(dialect, [result], leaves)
    wide = dialect.wide
    kept, reduced = kept_rank - 1, reduced_rank - 1
    head_size = 9 + kept + reduced
    result_step, step = 3 + kept, 3 + kept + reduced
    first_operand = head_size + result_step
    operands = range(1, 1 + len(leaves.operands))
    base = {0: head_size, **{n: first_operand + (n - 1) * step for n in operands}}

    writer = Writer(dialect, lanes)
    declare_scalars(writer, leaves.scalars)
    nothing = identity(reducer, dtype)
    parts = factor(dtype)
    # Columns that lie side by side where there are no vectors: a loop over c, in which accumulators are arrays.
    width, unroll = (unroll, 1) if across and lanes == 1 else (1, unroll)
    c = "[c]" if width > 1 else ""
    zeros = [writer.constant(nothing, dtype), writer.constant(0, dtype)][:parts]
    lifted, numbers = writer.lines, dict(writer.known)
    near = [f"{'k' if across else 'r'}{n}" if inner is None else str(inner[n - 1]) for n in operands]

    def taken(u: int, count: str) -> list[str]:
        """Statements that take the *count* elements of vector *u* of a step into block *u*."""
        writer.lines, writer.known = [], dict(numbers)
        along = f"(j + {u * lanes})" if u else "j"
        for n, operand in enumerate(leaves.operands, 1):
            place = f"p{n} + {along} * {near[n - 1]}"
            if across:
                place = f"p{n} + j * r{n} + {'c' if c else u * lanes} * {near[n - 1]}"
            if factor(operand.dtype) > 1:
                place = f"2 * ({place})"
            elif not isinstance(operand, Operand):
                place = f"({place})"
            writer.known[operand] = load_operand(writer, operand, f"in{n - 1}", place, near[n - 1], count)
        values = writer.value(expression)
        if count == "m" and lanes > 1 and not across:
            keep = keep_function(writer, dtype)
            values = tuple(writer.declare(dtype, f"{keep}({v}, {z}, m)") for v, z in zip(values, zeros, strict=True))
        combined = combined_by(writer, reducer, dtype, blocks[u], values)
        return [*writer.lines, *(f"{block} = {text};" for block, text in zip(blocks[u], combined, strict=True))]

    def taken_in_packs() -> list[str]:
        """Statements that take the elements of a pack, from j on, into the first block."""
        writer.lines, writer.known = [], dict(numbers)
        packs = Packs(writer, pack)
        for n, operand in enumerate(leaves.operands, 1):
            pointer, place = f"in{n - 1}", f"p{n}" if near[n - 1] == "0" else f"(p{n} + j + c)"
            if isinstance(operand, Operand) and near[n - 1] == "1":
                pointer, place = packs.loaded(operand.dtype, f"pack{n}", f"{pointer} + p{n} + j"), "c"
            writer.known[operand] = load_operand(writer, operand, pointer, place, "1", "1")
        combined = combined_by(writer, reducer, dtype, blocks[0], writer.value(expression))
        lines = [*writer.lines, *(f"{block} = {text};" for block, text in zip(blocks[0], combined, strict=True))]
        return packs.around(lines)

    def begun(accumulators: Sequence[Sequence[str]]) -> list[str]:
        """Statements that declare accumulators of nothing."""
        pairs = [pair for names in accumulators for pair in zip(names, zeros, strict=True)]
        if width == 1:
            return [f"{writer.type_of(dtype)} {name} = {zero};" for name, zero in pairs]
        declared = [f"{writer.type_of(dtype)} {name.replace(c, f'[{width}]')};" for name, _ in pairs]
        return [*declared, *beside(dialect, inner, width, [f"{name} = {zero};" for name, zero in pairs])]

    def joined(totals: Sequence[str], others: Sequence[str]) -> list[str]:
        """Statements that add *others* to *totals*."""
        writer.lines = []
        combined = combined_by(writer, reducer, dtype, totals, others)
        return [*writer.lines, *(f"{total} = {text};" for total, text in zip(totals, combined, strict=True))]

    def by_team(packed: Sequence[str], single: Sequence[str], shared: list[str]) -> list[str]:
        """Statements by which a team walks its split: *packed* take a pack of elements, *single* one."""
        span = SEGMENT * team
        lines = [
            f"const {wide} from = here ? split * g.at[2] : 0;",
            f"const {wide} to = !here ? 0 : from + g.at[2] < g.at[3] ? from + g.at[2] : g.at[3];",
            f"for ({wide} first = from; first < to; first += {span}) {{",
            f"const {wide} last = first + {span} < to ? first + {span} : to;",
            *begun(blocks),
        ]
        begin = "first"
        if packed:
            lines += [
                f"const {wide} whole_ = first + (last - first) / {pack} * {pack};",
                f"for ({wide} j = first + member * {pack}; j < whole_; j += {team * pack}) {{",
                *(f"const {wide} p{n} = q{n};" for n in operands),
                *packed,
                "}",
            ]
            begin = "whole_"
        counted = "e" if reduced else "j"
        lines.append(f"for ({wide} {counted} = {begin} + member; {counted} < last; {counted} += {team}) {{")
        if reduced:
            lines.append(f"{wide} line = e / g.at[6]; const {wide} j = e - line * g.at[6];")
        lines += [f"{wide} p{n} = q{n};" for n in operands]
        for dim in range(reduced - 1, -1, -1):
            size = f"g.at[{9 + kept + dim}]"
            lines.append(f"{{ const {wide} rest = line / {size}, at = line - rest * {size}; line = rest;")
            lines += [*(f"p{n} += at * g.at[{base[n] + 3 + kept + dim}];" for n in operands), "}"]
        lines += [*single, "}", *join, "}"]

        def add(into: Sequence[str], others: Sequence[str]) -> list[str]:
            return joined(into, others)

        type_name = dialect.types[computed_in(dtype)]
        return [
            *lines,
            *added_up(dialect, team, group, type_name, totals[0], add, shared, symmetric(reducer, dtype)),
        ]

    blocks, totals = (
        [[f"{n}{part}_{u}{c}" for part in range(parts)] for u in range(unroll)] for n in ("block", "total")
    )
    whole = [line for u in range(unroll) for line in taken(u, str(lanes))] if unroll > 1 else []
    rest = [] if across and whole else taken(0, "m")
    join = [line for u in range(unroll) for line in joined(totals[u], blocks[u])]
    rest, join = [beside(dialect, inner, width, lines) for lines in (rest, join)]
    fold = [line for u in range(1, unroll) for line in joined(totals[0], totals[u])]

    together = lanes * unroll * width if across else 1
    lines = [
        # Units of one split are neighbours, so that what they read lies together.
        f"const {wide} wholes = g.at[0] / g.at[1];",
        *(neighbouring(dialect) if group == 1 else (*numbered(dialect, team, group), *walk(dialect, team, group))),
        f"    const {wide} split = unit / wholes, whole = unit - split * wholes;",
        f"    {wide} row = whole / g.at[7], column = (whole - row * g.at[7]) * {together};",
    ]
    if across and unroll > 1:
        # The last columns of a row: some are computed twice, so that there is no partly filled vector.
        lines.append(f"    if (column > g.at[8] - {lanes * unroll}) column = g.at[8] - {lanes * unroll};")
    elif across:
        lines.append(f"    const int m = g.at[8] - column < {together} ? (int)(g.at[8] - column) : {together};")
    lines.append(f"    {wide} o = g.at[{base[0]}] + column * g.at[{base[0] + 1}] + split * g.at[{base[0] + 2 + kept}];")
    lines += [
        f"    {wide} q{n} = g.at[{base[n]}] + column * g.at[{base[n] + 1}]; const {wide} k{n} = g.at[{base[n] + 1}], "
        f"r{n} = g.at[{base[n] + 2 + kept}];"
        for n in operands
    ]
    for dim in range(kept - 1, -1, -1):
        size = f"g.at[{9 + dim}]"
        lines.append(f"    {{ const {wide} rest = row / {size}, at = row - rest * {size}; row = rest;")
        lines.append(f"      o += at * g.at[{base[0] + 2 + dim}];")
        lines += [f"      q{n} += at * g.at[{base[n] + 2 + dim}];" for n in operands]
        lines.append("    }")
    lines += [f"    {line}" for line in begun(totals)]
    if group > 1:
        found = [tuple(totals[0])]
        shared: list[str] = []
        lines += [f"    {line}" for line in by_team(taken_in_packs() if pack > 1 else (), rest, shared)]
        lifted = [*lifted, *shared]
        writer.lines = []
        values = writer.value(cast(Local(found[0], dtype), result))
        stored = writer.store(result, values, f"out0 + {'2 * o' if result.is_complex else 'o'}", "1", "1")
        lines += ["    if (member == 0 && here) {", *(f"    {line}" for line in (*writer.lines, *stored)), "    }", "}"]
        numbers_in_all = first_operand + len(leaves.operands) * step
        return kernel_source(
            dialect, name, parameters, numbers_in_all, writer.functions.values(), (*lifted, *lines), lanes=lanes,
            rank=kept_rank, group=group,
        )  # fmt: skip
    lines += [
        f"    const {wide} from = split * g.at[2], to = from + g.at[2] < g.at[3] ? from + g.at[2] : g.at[3];",
        f"    for ({wide} segment = from; segment < to; ++segment) {{",
        f"        {wide} line = segment / g.at[4]; const {wide} first = (segment - line * g.at[4]) * g.at[5];",
        f"        const {wide} last = first + g.at[5] < g.at[6] ? first + g.at[5] : g.at[6];",
    ]
    lines += [f"        {wide} p{n} = q{n};" for n in operands]
    for dim in range(reduced - 1, -1, -1):
        size = f"g.at[{9 + kept + dim}]"
        lines.append(f"        {{ const {wide} rest = line / {size}, at = line - rest * {size}; line = rest;")
        lines += [f"          p{n} += at * g.at[{base[n] + 3 + kept + dim}];" for n in operands]
        lines.append("        }")
    lines += [f"        {line}" for line in begun(blocks)]
    if across:
        lines.append(f"        for ({wide} j = first; j < last; ++j) {{")
        lines += [*(f"            {line}" for line in whole or rest), "        }"]
    elif lanes == 1 and parts == 1:
        clause = accumulating(writer, reducer, dtype, blocks[0])
        lines += [f"        {line}" for line in independent(dialect, inner, clause)]
        lines.append(f"        for ({wide} j = first; j < last; ++j) {{")
        lines += [*(f"            {line}" for line in rest), "        }"]
    else:
        lines.append(f"        {wide} j = first;")
        if whole:
            lines.append(f"        for (; j + {lanes * unroll} <= last; j += {lanes * unroll}) {{")
            lines += [*(f"            {line}" for line in whole), "        }"]
        lines.append(f"        for (; j < last; j += {lanes}) {{")
        if lanes > 1:
            lines.append(f"            const int m = last - j < {lanes} ? (int)(last - j) : {lanes};")
        lines += [*(f"            {line}" for line in rest), "        }"]
    lines += [*(f"        {line}" for line in join), "    }"]

    if across or lanes == 1:
        single, found = writer, [tuple(total) for total in totals]
    else:
        single = Writer(dialect, 1, writer.functions, prefix="u")
        element, text = folded(single, totals[0], writer.packed(computed_in(dtype), ""), lanes, reducer, dtype)
        lines += [f"    {line}" for line in (*fold, *text)]
        found = [element]
    for u, names in enumerate(found):
        single.lines = []
        values = single.value(cast(Local(names, dtype), result))
        place = f"o + {u * lanes}" if u else f"o + c * g.at[{base[0] + 1}]" if c else "o"
        apart = "1" if across and inner is not None else f"g.at[{base[0] + 1}]"
        count = str(lanes) if unroll > 1 else "m"
        stored = single.store(
            result, values, f"out0 + {f'2 * ({place})' if result.is_complex else place}", apart, count
        )
        lines += [f"    {line}" for line in beside(dialect, inner, width, [*single.lines, *stored])]
    lines.append("}")
    width, functions = first_operand + len(leaves.operands) * step, writer.functions.values()
    return kernel_source(dialect, name, parameters, width, functions, (*lifted, *lines), lanes=lanes, rank=kept_rank)


def accumulating(writer: Writer, reducer: str, dtype: DType, names: Sequence[str]) -> str:
    """What says before a loop that it accumulates in *names*; nothing if the language does not say it.

    Complex numbers are not for it: their two accumulators depend on each other.
    """
    dialect = writer.dialect
    if not dialect.loop:
        return ""
    own = computed_in(dtype)
    spelled = f"{reducer}_{dtype.name}"
    template = formula(COMBINED_BY[reducer], letter_of(dtype))
    assert template is not None
    writer.functions.setdefault(
        spelled,
        dialect.combination.format(
            name=spelled, type=dialect.types[own], value=writer.filled(template, dtype, *dialect.combined),
            nothing=writer.constant(identity(reducer, dtype), dtype),
        ),
    )  # fmt: skip
    return "".join(dialect.accumulated.format(name=spelled, place=name) for name in names)


def symmetric(reducer: str, dtype: DType) -> bool:
    """Whether combining a and b gives the bits of combining b and a: not where zeros have signs, or numbers parts."""
    return dtype.category < FLOATING or (reducer in ("sum", "prod") and not dtype.is_complex)


def combined_by(writer: Writer, reducer: str, dtype: DType, a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    """The variables that hold the combination of two elements."""
    writer.known = {}
    return writer.value(apply(COMBINED_BY[reducer], Local(tuple(a), dtype), Local(tuple(b), dtype)))


def keep_function(writer: Writer, dtype: DType) -> str:
    """A function that gives *nothing* in the lanes from *m* on."""
    own = dtype.to_real()
    spelled, lanes = f"keep_{own.name}_{writer.lanes}", writer.lanes
    if spelled not in writer.functions:
        vector, element = writer.type_of(own), Writer(writer.dialect, 1).type_of(own)
        packed = writer.packed(computed_in(own), "")
        writer.functions[spelled] = (
            f"{writer.dialect.function}{vector} {spelled}(const {vector} v, const {vector} nothing, const int m) {{\n"
            f"    if (m == {lanes}) return v;\n"
            f"    {element} kept[{lanes}], none[{lanes}];\n"
            f"    (({packed} *)kept)->v = v; (({packed} *)none)->v = nothing;\n"
            f"    for (int k = m; k < {lanes}; ++k) kept[k] = none[k];\n"
            f"    return ((const {packed} *)kept)->v;\n}}\n"
        )
    return spelled


def folded(
    single: Writer, totals: Sequence[str], packed: str, lanes: int, reducer: str, dtype: DType, lane: str = "lane"
) -> tuple[tuple[str, ...], list[str]]:
    """Statements that combine the *lanes* of the *totals*, by halves; *packed* is their type in memory, *lane* what
    the variables are called.
    """
    element, parts = single.type_of(dtype), len(totals)
    lines = []
    for part, total in enumerate(totals):
        lines.append(f"{element} {lane}{part}[{lanes}]; (({packed} *){lane}{part})->v = {total};")
    left = [f"{lane}{part}[at]" for part in range(parts)]
    right = [f"{lane}{part}[at + apart]" for part in range(parts)]
    combined = combined_by(single, reducer, dtype, left, right)
    lines.append(f"for (int apart = {lanes // 2}; apart > 0; apart /= 2)")
    lines.append("    for (int at = 0; at < apart; ++at) {")
    lines += [f"        {line}" for line in single.lines]
    lines += [f"        {lane}{part}[at] = {text};" for part, text in enumerate(combined)]
    lines.append("    }")
    single.lines = []
    return tuple(f"{lane}{part}[0]" for part in range(parts)), lines


def unroll_for(expression: Expression) -> int:
    """How many vectors of *expression* a step had better take: several if little is computed, so that an addition
    need not wait for the last; one where that is hidden behind work, and more would only take longer to compile.

    >>> import polyad
    >>> x = Operand(0, polyad.float32)
    >>> unroll_for(x * x), unroll_for(apply("exp", x))
    (4, 1)
    """
    found, waiting = 0, [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Apply):
            found += 1
            cheap = node.op in ("cast", "where") or is_cheap(node.op, letter_of(node.dtype))
            if node.dtype.is_complex or not cheap or found > _FEW:
                return 1
            waiting.extend(node.arguments)
    return UNROLLED


def beside(dialect: Dialect, inner: Strides | None, width: int, lines: Sequence[str]) -> list[str]:
    """*lines* for each of up to *width* columns side by side, counted by ``c``."""
    if width == 1 or not lines:
        return list(lines)
    return [*independent(dialect, inner), "for (int c = 0; c < m; ++c) {", *lines, "}"]


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """How a reduction walks given arrays.

    Attributes:
        across: whether vectors lie along the kept dimension.
        kept_rank, reduced_rank: collapsed dimensions that it must walk, see `padded_rank`.
        inner: the operands' strides along the vectors, all 0 or 1, and, across, results that are dense there, if the
            kernel may rely on that; None: any.
        unroll: vectors a step; across, in a language without, columns side by side.
        instances: how many to launch.
        geometry: the kernel's last argument.
        team, group: how many instances share a split, and how many must be launched as a group.
        pack: elements that an instance of a team reads at once.
        splits: partial results for each result; more than 1 asks for a second pass over them, whose input has the
            shape (splits, *kept).
    """

    across: bool
    kept_rank: int
    reduced_rank: int
    inner: Strides | None
    unroll: int
    instances: int
    geometry: bytes
    splits: int
    team: int = 1
    group: int = 1
    pack: int = 1


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
    >>> plan.across, plan.splits
    (False, 1)
    """
    gone = set(dims)
    stay = [dim for dim in range(len(shape)) if dim not in gone]
    kept_sizes, kept = by_memory(
        tuple([shape[dim] for dim in stay]),
        [tuple([strides[dim] for dim in stay]) for strides in operands] + [tuple(result)],
    )
    reduced_sizes, reduced = by_memory(
        tuple([shape[dim] for dim in dims]), [tuple([strides[dim] for dim in dims]) for strides in operands]
    )
    along = nearness(reduced, reduced_sizes[-1])
    across = nearness(kept[:-1], kept_sizes[-1]) > along and kept_sizes[-1] > 1
    kept_rank, reduced_rank = padded_rank(len(kept_sizes)), padded_rank(len(reduced_sizes))
    results = math.prod(kept_sizes)
    length, lines = reduced_sizes[-1], math.prod(reduced_sizes[:-1])
    chunk = min(SEGMENT if not across else _BAND, length)
    if not across and chunk < length:
        chunk = -(-chunk // lanes) * lanes
    inner = None
    if device.kind == CPU:
        places = results * length * lines
        inner = known_inner([kept[-1], *kept[:-1]] if across else reduced, lanes, int(across), places)
    if lanes == 1 and device.kind == CPU:
        unroll = WIDTH if across else 1
    elif inner is None or (kept_sizes[-1] if across else chunk) < unroll * lanes:
        unroll = 1
    inner = inner and inner[int(across) :]
    blocks = -(-kept_sizes[-1] // (lanes * unroll)) if across else kept_sizes[-1]
    chunks = -(-length // chunk)
    segments = lines * chunks
    wholes = math.prod(kept_sizes[:-1]) * blocks
    wanted = device.workers if device.kind == CPU else device.workers // 4
    splits, team, group, places = 1, 1, 1, length * lines
    if device.kind != CPU and not across:
        segments, share, team, group = _shared_out(device, places, results, may_split)
        splits = -(-places // share)
    elif may_split and wholes < wanted and segments > 1 and results * length * lines >= 8 * SEGMENT:
        splits = min(segments, -(-wanted // wholes))
    elif may_split and across and wholes > 1 and results * length * lines >= _TALL:
        splits = segments
    if group == 1:
        share = -(-segments // splits)
        splits = -(-segments // share)
        pack = 1
    else:
        inner = known_inner(reduced, 1, 0, places) if pack > 1 and len(reduced_sizes) == 1 else None
        begins = [(*far, *near) for far, near in zip(kept[:-1], reduced, strict=True)]
        if inner is not None and not packs_fit(pack, begins, offsets):
            inner = None
        pack = 1 if inner is None else pack
    units = wholes * splits
    pad_kept, pad_reduced = kept_rank - len(kept_sizes), reduced_rank - len(reduced_sizes)
    numbers = [units, splits, share, segments, chunks, chunk, length, blocks, kept_sizes[-1]]
    numbers += [*(1,) * pad_kept, *kept_sizes[:-1], *(1,) * pad_reduced, *reduced_sizes[:-1]]
    out = kept[-1]
    numbers += [result_offset, out[-1], *(0,) * pad_kept, *out[:-1], results]
    for offset, near, far in zip(offsets, kept[:-1], reduced, strict=True):
        numbers += [offset, near[-1], *(0,) * pad_kept, *near[:-1], far[-1], *(0,) * pad_reduced, *far[:-1]]
    instances = units
    if group > 1:
        instances = group * min(-(-units * team // group), max(1, 2 * device.workers // group))
    elif device.kind == CPU:
        # Short rows: several an instance.
        instances = max(1, min(units, units * share * chunk * (lanes * unroll if across else 1) // (4 * SEGMENT)))
        instances = min(instances, 4 * device.workers)
    geometry = struct.pack(f"{len(numbers)}q", *numbers)
    return ReductionPlan(across, kept_rank, reduced_rank, inner, unroll, instances, geometry, splits, team, group, pack)


def _shared_out(device: DeviceDescription, places: int, results: int, may_split: bool) -> tuple[int, int, int, int]:
    """How a GPU reduces *results* rows of *places* along: the places of a row, those of a split, and the sizes of a
    team and a group.
    """
    team, group = team_for(device, places, results)
    share = places
    if may_split and results * team < device.workers // 4 and places >= 8 * SEGMENT:
        # A few groups for each multiprocessor.
        splits = min(places // (4 * SEGMENT), -(-4 * device.compute_units // results))
        share = -(-places // splits)
        share = -(-share // SEGMENT) * SEGMENT
        team, group = team_for(device, share, results * splits)
    return places, share, team, group


def nearness(strides: Sequence[Strides], length: int) -> float:
    """How well vectors lie along the inner dimension: the operands that lie densely there, if it is long enough."""
    if length == 1:
        return -1
    return sum(1 if near == 1 else 0.5 if near == 0 else 0 for *_, near in strides) + (0.25 if length >= 64 else 0)
