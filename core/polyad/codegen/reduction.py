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
from ..base.shapes_and_strides import Shape, Strides
from ..loops.reductions import Reduction
from .accumulators import SEGMENT, check_reducer, unroll_for as unroll_for
from .collapse import inner_first
from .dialects import Dialect
from .elementwise import known_inner
from .expression import Expression, cast
from .frame import KernelSource, Leaves, Parameters, lanes_for
from .hardware import CPU, DeviceDescription
from .packs import packs_fit
from .printer import source_of
from .variants import STRIDED, WIDTH, Space, Variant, nearness
from .workgroups import choose_workgroup

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
    schedule = Reduction(expression, reducer, leaves.operands, result, lanes, variant, dialect.warp)
    return source_of(
        schedule.body(), dialect, parameters, leaves.scalars, schedule.base(1 + len(leaves.operands)), name=name,
        lanes=lanes, rank=variant.kept_rank, group=variant.group,
    )  # fmt: skip


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
