"""The generator of row-wise kernels: `rowwise` writes kernels of several stages over the same rows, `rowwise_plan` says
how they walk given arrays.

A softmax needs its row's maximum, then the sum of exponentials that the maximum shifts, then writes the row. As a
kernel that is two stages and an element:

    stages    a `Stage` reduces an expression of operands over the row, or maps values of the row; it may read what
              earlier stages gave, as `RowValue`: those stay in registers, or in memory that a group shares
    elements  expressions with a value at each place, written to results of the full shape
    rows      expressions of row values, written to results with a value a row

Stages that do not wait for each other share a pass over the row. What does not change along a row is computed once. A
costly summand that the elements need again, such as a softmax's exponential, waits in the result's row.

The iteration space has *kept* and *reduced* dimensions, as in `reduction`; a *row* is all of the reduced ones. A kernel
has one of three shapes:

    along     an instance walks a row, with vectors along its inner dimension
    across    each lane of a vector has a row of its own: rows that lie side by side in memory
    together  a team of instances shares a row and adds up what its members have: on GPUs, see `polyad.codegen.teams`

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
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.layout import Shape, Strides
from ..errors import ArgumentError, DTypeError
from .collapse import by_memory
from .dialects import Dialect
from .elementwise import known_inner
from .expression import Expression, Operand, Place, RowValue, cast, leaves_of, substituted
from .frame import (
    MIN_CHUNK,
    KernelSource,
    Leaves,
    Parameters,
    interleaved,
    kernel_source,
    lanes_for,
    neighbouring,
    padded_rank,
)
from .hardware import CPU, DeviceDescription
from .packs import pack_for, packs_fit
from .reduction import SEGMENT, UNROLLED, WIDTH, check_reducer, nearness, unroll_for
from .row_statements import RowShape, RowText, Stage as Stage, kept_at
from .teams import numbered, team_for, walk
from .writer import computed_in

_FEW_GROUPS = 4
"""Of how many multiprocessors, one is busy at least where rows are not split."""


def rowwise(
    stages: Sequence[Stage],
    elements: Sequence[Expression],
    rows: Sequence[Expression],
    dialect: Dialect,
    device: DeviceDescription | None = None,
    *,
    across: bool = False,
    team: int = 1,
    group: int = 1,
    kept_rank: int = 1,
    reduced_rank: int = 1,
    inner: Strides | None = None,
    unroll: int = 1,
    pack: int = 1,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that computes *stages* for every row and writes *elements* and *rows* to results of their own.

    Args:
        stages: in the order in which they read each other.
        elements, rows: what is written, at each place and for each row; operands in *rows* are constant along it.
        dialect, device: the language, and what decides the number of lanes.
        across, team, group, kept_rank, reduced_rank, inner, unroll, pack: what the arrays' `RowwisePlan` says.
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
    # The error of a sum grows with how many numbers follow each other, which without vectors are all of a span.
    span = SEGMENT if device.kind != CPU or device.has_vectors else SEGMENT // 4
    ranks = kept_rank - 1, reduced_rank - 1
    shape = RowShape(dialect, lanes, across, copies, width, team, group, *ranks, inner, pack, span)
    text = RowText(shape, leaves, results)
    passes = _passes(stages)
    kept = None if across else _kept(stages, passes[-1][0], elements)
    if kept is not None:
        elements = substituted(elements, {kept.expression: kept_at(kept.dtype)})
    for passing, after in passes:
        text.reduce([(n, stages[n]) for n in passing], unroll, kept if passing == passes[-1][0] else None)
        for n in after:
            for u in range(shape.copies):
                text.give(n, text.at_row(stages[n].expression, u), stages[n], u)
    if elements:
        text.write_elements(elements)
    text.write_rows(rows, len(elements))
    width = shape.base(len(results) + len(leaves.operands))
    head = interleaved(dialect) if device.kind != CPU else neighbouring(dialect)
    if group > 1:
        head = [*numbered(dialect, team, group), *walk(dialect, team, group)]
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


def rowwise_pack(
    stages: Sequence[Stage],
    elements: Sequence[Expression],
    rows: Sequence[Expression],
    dialect: Dialect,
    device: DeviceDescription,
) -> int:
    """How many elements an instance on a GPU may read and write at once, see `polyad.codegen.packs`."""
    return pack_for([*(stage.expression for stage in stages), *elements, *rows], dialect, device)


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


def _kept(stages: Sequence[Stage], last: Sequence[int], elements: Sequence[Expression]) -> Stage | None:
    """The stage of the last pass whose summands had better be kept, in the result's row, than computed once more for
    the elements: they are costly, and all that the elements need of the operands. None if there is no such stage.
    """
    for n in last:
        stage = stages[n]
        summand = stage.expression
        if len(elements) == 1 and elements[0].dtype is summand.dtype is computed_in(summand.dtype) is stage.dtype:
            rest = leaves_of(*substituted(elements, {summand: kept_at(summand.dtype)}))
            others = [leaf for leaf in rest if isinstance(leaf, (Operand, Place))]
            if others == [kept_at(summand.dtype)] and unroll_for(summand) == 1:
                return stage
    return None


@dataclass(frozen=True, slots=True)
class RowwisePlan:
    """How a row-wise kernel walks given arrays.

    Attributes:
        across: whether lanes lie along the kept dimension.
        team, group: how many instances share a row, and how many must be launched as a group.
        kept_rank, reduced_rank: collapsed dimensions that it must walk, see `padded_rank`.
        inner: the arrays' strides along the vectors, all 0 or 1, if the kernel may rely on them; None: any.
        unroll: vectors a step, or, across, vectors or rows side by side.
        pack: elements that an instance reads and writes at once.
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
    team: int = 1
    pack: int = 1


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
    pack: int = 1,
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
        pack: at most how many elements are read at once, where they are dense: what `rowwise_pack` says.

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
    team, group, inner, splits = 1, 1, None, False
    if device.kind == CPU:
        inner, pack = _dense(kept if across else reduced, lanes, elements, results, across, count * places), 1
    else:
        across = across and count >= device.workers // 8
        if not across:
            team, group = team_for(device, places, count)
        if team > 1 and pack > 1 and len(reduced_sizes) == 1 and length % pack == 0:
            inner = _dense(reduced, 1, elements, results, False, count * places)
            begins = [(*kept[n], *reduced[n]) for n in walked]
            if inner is not None and not packs_fit(pack, begins, [offsets[n] for n in walked]):
                inner = None
        pack = 1 if inner is None else pack
    if lanes == 1 and device.kind == CPU:
        unroll = WIDTH if across else 1
    elif inner is None or (columns % (unroll * lanes) if across else length < unroll * lanes):
        unroll = 1
    units = count // columns * -(-columns // (lanes * unroll)) if across else count
    if count * places >= 8 * SEGMENT:
        if device.kind == CPU:
            splits = units < 2 * device.compute_units and units % device.compute_units != 0
        else:
            splits = units * _FEW_GROUPS < device.compute_units and places >= 8 * SEGMENT
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
        instances = group * min(-(-units * team // group), max(1, device.workers // group))
    geometry = struct.pack(f"{len(numbers)}q", *numbers)
    return RowwisePlan(across, group, kept_rank, reduced_rank, inner, unroll, instances, geometry, splits, team, pack)


def _dense(
    steps: Sequence[Strides], lanes: int, elements: int, results: int, across: bool, places: int
) -> Strides | None:
    """The inner strides, if a kernel for just these is worth having; results for rows matter only *across*."""
    if across:
        return known_inner(steps, lanes, results, places)
    found = known_inner([*steps[:elements], *steps[results:]], lanes, elements, places)
    return found and (*found[:elements], *(0 for _ in range(results - elements)), *found[elements:])
