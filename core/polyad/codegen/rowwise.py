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
    together  several work items share a row and add up what each of them has: on GPUs, see `polyad.codegen.workgroups`

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

from ..base.shapes_and_strides import Shape, Strides
from ..errors import ArgumentError, DTypeError
from ..loops.rows import Rows, Stage as Stage, written_summand
from .accumulators import SEGMENT, UNROLLED, check_reducer, unroll_for
from .dialects import Dialect
from .elementwise import known_inner
from .expression import Expression, Iota, Operand, RowValue, cast, leaves_of, substituted
from .frame import MIN_CHUNK, KernelSource, Leaves, Parameters, lanes_for
from .hardware import CPU, DeviceDescription
from .packs import pack_for, packs_fit
from .printer import source_of
from .variants import STRIDED, WIDTH, Space, Variant, nearness
from .workgroups import choose_workgroup
from .writer import computed_in

_FEW_GROUPS = 4
"""Of so many multiprocessors, one at least has a row, where rows are not split."""


def rowwise(
    stages: Sequence[Stage],
    elements: Sequence[Expression],
    rows: Sequence[Expression],
    dialect: Dialect,
    device: DeviceDescription | None = None,
    *,
    variant: Variant = STRIDED,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that computes *stages* for every row and writes *elements* and *rows* to results of their own.

    Args:
        stages: in the order in which they read each other.
        elements, rows: what is written, at each place and for each row; operands in *rows* are constant along it.
        dialect, device: the language, and what decides the number of lanes.
        variant: what the arrays' `RowwisePlan` says.
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
    # The error of a sum grows with how many numbers follow each other, which without vectors are all of a span.
    span = SEGMENT if device.kind != CPU or device.has_vectors else SEGMENT // 4
    walk = Rows(leaves.operands, len(results), lanes, variant, span, device.kind == CPU, dialect.warp)
    passes = _passes(stages)
    written = None if variant.across else _written_stage(stages, passes[-1][0], elements)
    if written is not None:
        elements = substituted(elements, {written.expression: written_summand(written.dtype)})
    for passing, after in passes:
        walk.reduce([(n, stages[n]) for n in passing], variant.unroll, written if passing == passes[-1][0] else None)
        for n in after:
            walk.give(n, [stages[n].expression] * walk.copies, stages[n])
    if elements:
        walk.write_elements(elements)
    walk.write_rows(rows, len(elements))
    return source_of(
        walk.body(), dialect, parameters, leaves.scalars, walk.base(walk.count), name=name, lanes=lanes,
        rank=variant.kept_rank, group=variant.group, numbers_of_rows=walk.single,
    )  # fmt: skip


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


def _written_stage(stages: Sequence[Stage], last: Sequence[int], elements: Sequence[Expression]) -> Stage | None:
    """The stage of the last pass whose summands are better written to the result's row than computed once more for the
    elements: they are costly, and all that the elements need of the operands. None if there is no such stage.
    """
    for n in last:
        stage = stages[n]
        summand = stage.expression
        if len(elements) == 1 and elements[0].dtype is summand.dtype is computed_in(summand.dtype) is stage.dtype:
            rest = leaves_of(*substituted(elements, {summand: written_summand(summand.dtype)}))
            others = [leaf for leaf in rest if isinstance(leaf, (Operand, Iota))]
            if others == [written_summand(summand.dtype)] and unroll_for(summand) == 1:
                return stage
    return None


@dataclass(frozen=True, slots=True)
class RowwisePlan:
    """How a row-wise kernel walks given arrays.

    Attributes:
        variant: which kernel; of its *inner* strides, those of results for rows matter only across.
        instances: how many work items to launch, a multiple of the group; none if there are no rows.
        geometry: the kernel's last argument.
        splits: whether rows are so few and long that passes of their own, which share a row out, had better do it. The
            kernel is right all the same.
    """

    variant: Variant
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
    >>> plan.variant.across, plan.splits, plan.instances
    (False, False, 1)
    """
    results = elements + rows
    if any(size == 0 for dim, size in enumerate(shape) if dim not in dims):
        return RowwisePlan(STRIDED, 0, b"", False)
    space = _space(shape, dims, strides, elements, results)
    count, columns, length = math.prod(space.kept_sizes), space.kept_sizes[-1], math.prod(space.reduced_sizes)
    walked = [n for n in range(len(strides)) if not elements <= n < results]
    across = columns > 1 and nearness([space.kept[n] for n in walked], columns) > nearness(
        [space.reduced[n] for n in walked], space.reduced_sizes[-1]
    )
    cpu = device.kind == CPU
    if not cpu:
        across = across and count >= device.workers // 8
    row_items, group = (1, 1) if across else choose_workgroup(device, length, count)
    inner = None
    if cpu:
        near = space.kept if across else space.reduced
        inner, pack = _known_inner(near, lanes, elements, results, across, count * length), 1
    elif row_items > 1 and pack > 1 and len(space.reduced_sizes) == 1 and length % pack == 0:
        inner = _known_inner(space.reduced, 1, elements, results, False, count * length)
        begins = [(*space.kept[n], *space.reduced[n]) for n in walked]
        if not packs_fit(pack, begins, [offsets[n] for n in walked]):
            inner = None
    pack = 1 if inner is None else pack
    if lanes == 1 and cpu:
        unroll = WIDTH if across else 1
    elif inner is None or (columns % (unroll * lanes) if across else space.reduced_sizes[-1] < unroll * lanes):
        unroll = 1
    blocks = -(-columns // (lanes * unroll)) if across else columns
    units = count // columns * blocks
    numbers = [units, blocks, columns, space.reduced_sizes[-1], length, *space.outer_sizes()]
    for offset, kept, reduced in zip(offsets, space.kept, space.reduced, strict=True):
        numbers += [offset, *space.inner_first(kept, reduced)]
    if cpu:
        # Short rows: a work item takes several.
        instances = max(1, min(units, count * length // (MIN_CHUNK // 2), 4 * device.workers))
    else:
        instances = group * min(-(-units * row_items // group), max(1, device.workers // group))
    variant = Variant(across, space.kept_rank, space.reduced_rank, inner, unroll, row_items, group, pack)
    geometry = struct.pack(f"{len(numbers)}q", *numbers)
    return RowwisePlan(variant, instances, geometry, _is_better_split(device, units, length, count))


def _space(shape: Shape, dims: Sequence[int], strides: Sequence[Strides], elements: int, results: int) -> Space:
    """The iteration space in the order in which operands lie in memory, and then results: what a walk should follow."""
    order = [*range(results, len(strides)), *range(results)]
    stay, nowhere = [dim for dim in range(len(shape)) if dim not in dims], (0,) * len(dims)
    space = Space.of(
        shape,
        dims,
        [tuple([strides[n][dim] for dim in stay]) for n in order],
        [nowhere if elements <= n < results else tuple([strides[n][dim] for dim in dims]) for n in order],
    )
    back = [(n - results) % len(strides) for n in range(len(strides))]
    kept, reduced = tuple([space.kept[n] for n in back]), tuple([space.reduced[n] for n in back])
    return space._replace(kept=kept, reduced=reduced)


def _is_better_split(device: DeviceDescription, units: int, length: int, rows: int) -> bool:
    """Whether rows leave much of the device without work."""
    if rows * length < 8 * SEGMENT:
        return False
    if device.kind == CPU:
        return units < 2 * device.compute_units and units % device.compute_units != 0
    return units * _FEW_GROUPS < device.compute_units and length >= 8 * SEGMENT


def _known_inner(
    strides: Sequence[Strides], lanes: int, elements: int, results: int, across: bool, places: int
) -> Strides | None:
    """The inner strides, if a kernel for just these is worth having; results for rows matter only *across*."""
    if across:
        return known_inner(strides, lanes, results, places)
    found = known_inner([*strides[:elements], *strides[results:]], lanes, elements, places)
    return found and (*found[:elements], *(0,) * (results - elements), *found[elements:])
