"""Running a lowered body: its kernels, their arrays and numbers, for operands of known layouts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..backend.runtime import Launch, Runtime
from ..base.dtypes import DType
from ..base.shapes_and_strides import Layout, Shape, broadcast_layout, contiguous_strides, reduced_shape
from ..codegen import Expression, Operand, RowValue, Scalar, by_memory
from ..codegen.expression import leaves_of, substituted
from ..codegen.kernels import PointwiseKernel, ReductionKernel, RowwiseKernel, TableKernel
from ..codegen.kernels.numbers import Packing
from .loops import Load, Loop, Loops
from .rows import Rows, group_loops


class _PlannedLaunch(NamedTuple):
    """A launch, ready but for arrays and numbers."""

    results: tuple[Any, ...]  # each the dtype, shape and strides of a new array, or the number of a given one
    launch: Launch
    arrays: tuple[int, ...]
    in_place: frozenset[int]  # the arrays that are read at the place that is written, and nowhere else
    packed: Packing


class LoopsKernel:
    """The kernels of *loops* on the device of *runtime*: ``kernel(arrays, numbers) -> arrays``.

    Loops over the same rows are one kernel where the device gains by it. Kernels are shared by all layouts, and by all
    ops that compute the same.
    """

    def __init__(
        self, runtime: Runtime, what: str, loops: Loops, operands: int, outs: Sequence[Layout] | None = None
    ) -> None:
        """*outs* are the layouts of arrays that are given for the results, for a kernel that is called by `into`."""
        self._runtime = runtime
        self._what = what
        self._slots = operands
        self._loops = loops
        self._operands = operands
        self._number = {slot: slot for slot in range(operands)}  # from a slot to its place in a call's list of arrays
        self._launches: list[_PlannedLaunch] = []
        self._given: dict[int, Any] = {} if outs is None else _slots_of_outs(loops, outs)
        groups = group_loops([_lay_out(loop, self._given, outs or ()) for loop in loops.loops], loops.loads)
        wanted = {load.slot for load in loops.results}
        for at, group in enumerate(groups):
            if isinstance(group, Loop):
                self._add(group, loops.loads)
                continue
            later = wanted | _slots_read(groups[at + 1 :], loops.loads)
            if len(group.loops) == 1 or not self._add_rows(group, later):
                for loop in group.loops:
                    self._add(loop, loops.loads)
        self._hazards = self._find_hazards(operands)
        whole = {slot: layout for loop in loops.loops for slot, _, layout in loop.results}
        self._results = [
            (self._number[load.slot], None if load.layout == whole[load.slot] else load.layout, dtype)
            for load, dtype in zip(loops.results, loops.dtypes, strict=True)
        ]

    def __call__(self, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> tuple[Any, ...]:
        """New arrays."""
        slots = self._run(arrays, numbers, ())
        return tuple([
            slots[at] if seen is None else self._view(slots[at], dtype, seen) for at, seen, dtype in self._results
        ])  # fmt: skip

    def into(self, outs: Sequence[Any], arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> bool:
        """Write the results to *outs*, of the layouts given; False, and nothing is done, if what is written before it
        is read would be lost.
        """
        if self._overwrites(outs, arrays):
            return False
        slots = self._run(arrays, numbers, outs)
        for out, (at, seen, dtype) in zip(outs, self._results, strict=True):
            if slots[at] is not out:
                self._runtime.backend.copy(out, slots[at] if seen is None else self._view(slots[at], dtype, seen))
        return True

    def _view(self, array: Any, dtype: DType, layout: Layout) -> Any:
        backend = self._runtime.backend
        return backend.as_strided(backend.root(array), dtype, *layout)

    @property
    def form(self) -> Hashable:
        """What kernels have in common that `into_many` may run together; None for one that runs alone.

        All that they read and write is dense and of one layout, or a single number.
        """
        if not self._runtime.dialect.addresses:
            return None
        found: list[Any] = [tuple(sorted(self._given.items())), self._result_slots()]
        for loop in self._loops.loops:
            expressions, used, _ = _renumber(loop.expressions, self._loops.loads)
            arrays = [layout for _, _, layout in loop.results] + [load.layout for load in used]
            if loop.reducer is not None or not _dense_alike(loop.shape, arrays):
                return None
            made = tuple([(slot, dtype) for slot, dtype, _ in loop.results])
            found.append(
                (expressions, made, tuple([(load.slot, _is_single(loop, load)) for load in used]), loop.shape == ())
            )
        return tuple(found)

    def _result_slots(self) -> tuple[int, ...] | None:
        """The slots of the results; None if one is a view of what was computed."""
        seen = [seen for _, seen, _ in self._results]
        return tuple([load.slot for load in self._loops.results]) if not any(seen) else None

    @staticmethod
    def into_many(
        kernels: Sequence[LoopsKernel],
        outs: Sequence[Sequence[Any]],
        arrays: Sequence[Sequence[Any]],
        numbers: Sequence[Any],
    ) -> bool:
        """`into` for each of *kernels*, of one form and with the same *numbers*, by a launch for each loop; False, and
        nothing is done, if an array had better be copied first.
        """
        first = kernels[0]
        runtime, backend, what = first._runtime, first._runtime.backend, first._what
        if any(kernel._overwrites(*given) for kernel, *given in zip(kernels, outs, arrays, strict=True)):
            return False
        slots = [dict(enumerate(given)) for given in arrays]
        for at, loop in enumerate(first._loops.loops):
            expressions, used, packed = _renumber(loop.expressions, first._loops.loads)
            single = tuple([_is_single(loop, load) for load in used])
            kernel: TableKernel = runtime.once(
                ("table", expressions, single),
                partial(TableKernel, runtime, what, expressions, single),
            )
            rows, counts = [], []
            for each, known, targets in zip(kernels, slots, outs, strict=True):
                own = each._loops.loops[at]
                for slot, dtype, layout in own.results:
                    place = each._given.get(slot)
                    known[slot] = (
                        targets[place] if place is not None else runtime.empty(dtype, layout.shape, layout.strides)
                    )
                rows.append([*(known[slot] for slot, _, _ in own.results), *(known[load.slot] for load in used)])
                counts.append(math.prod(own.shape))
            kernel(rows, counts, packed(numbers))
        for each, known, targets in zip(kernels, slots, outs, strict=True):
            for target, load in zip(targets, each._loops.results, strict=True):
                if known[load.slot] is not target:
                    backend.copy(target, known[load.slot])
        return True

    def _run(self, arrays: Sequence[Any], numbers: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        empty = self._runtime.empty
        slots = list(arrays)
        for planned in self._launches:
            made = [empty(*wanted) if wanted.__class__ is tuple else outs[wanted] for wanted in planned.results]
            slots += made
            planned.launch((*made, *[slots[at] for at in planned.arrays]), planned.packed(numbers))
        return slots

    def _overwrites(self, outs: Sequence[Any], arrays: Sequence[Any]) -> bool:
        """Whether an operand that is still to be read lies where a kernel writes, other than at the same places."""
        runtime = self._runtime
        for at, operand, in_place in self._hazards:
            out, array = outs[at], arrays[operand]
            if (out is array or runtime.same_memory(out, array)) and not (in_place and runtime.same_place(out, array)):
                return True
        return False

    def _find_hazards(self, operands: int) -> list[tuple[int, int, bool]]:
        """The pairs (given array, operand), by number, that must not share memory, since the array would be written
        before the operand is read. Where the last is True they may, if both are the same view: then a single kernel
        reads each element and writes it.
        """
        found = []
        for at in self._given.values():
            for operand in range(operands):
                written, risky, in_place = False, False, True
                for planned in self._launches:
                    read = operand in planned.arrays
                    if written and read:
                        risky, in_place = True, False
                    if at in planned.results:
                        written = True
                        if read:
                            risky, in_place = True, in_place and operand in planned.in_place
                if risky:
                    found.append((at, operand, in_place))
        return found

    def _add(self, loop: Loop, loads: Sequence[Load]) -> None:
        expressions, used, packed = _renumber(loop.expressions, loads)
        runtime, what = self._runtime, self._what
        operands = [broadcast_layout(load.layout, loop.shape) for load in used]
        if loop.reducer is None:
            kernel = runtime.once(("pointwise", expressions), lambda: PointwiseKernel(runtime, what, expressions))
            launch = kernel.launch(loop.shape, [layout for _, _, layout in loop.results], operands)
            self._add_launch(loop.results, launch, used, packed, loop.shape)
            return
        (slot, dtype, layout), (expression,), reducer = loop.results[0], expressions, loop.reducer
        launch, splits = self._reduction(expression, reducer, dtype).launch(loop.shape, loop.dims, operands)
        if splits == 1:
            self._add_launch(loop.results, launch, used, packed)
            return
        partial = expression.dtype
        parts = (splits, *reduced_shape(loop.shape, loop.dims, False))
        between = Layout(parts, contiguous_strides(parts), 0)
        self._add_launch([(-1 - slot, partial, between)], launch, used, packed)
        launch, _ = self._reduction(Operand(0, partial), reducer, dtype).launch(parts, (0,), [between], may_split=False)
        self._add_launch([(slot, dtype, layout)], launch, [Load(-1 - slot, between)], Packing(()))

    def _add_rows(self, rows: Rows, wanted: set[int]) -> bool:
        """Add *rows* as one kernel; False if the device had better take its loops one by one.

        Of the values that rows have, those in the slots *wanted* are written.
        """
        rows.lift()
        written = [slot for slot in rows.stage_of if slot in wanted]
        values = [RowValue(rows.stage_of[slot], rows.results[slot][1]) for slot in written]
        every = [*(s.expression for s in rows.stages), *(each for each, _ in rows.elements), *values]
        found, used, packed = _renumber(every, rows.loads)
        count, elements = len(rows.stages), len(rows.elements)
        stages = [replace(stage, expression=each) for stage, each in zip(rows.stages, found, strict=False)]
        runtime, what, parts = self._runtime, self._what, (tuple(stages), found[count:])
        kernel = runtime.once(
            ("rowwise", *parts, elements),
            lambda: RowwiseKernel(runtime, what, stages, found[count : count + elements], found[count + elements :]),
        )
        results = [*(result for _, result in rows.elements), *(rows.results[slot] for slot in written)]
        outs = [layout for _, (_, _, layout) in rows.elements]
        for slot in written:
            layout = rows.results[slot][2]
            along = rows.align(layout, layout.shape)
            assert along is not None, "a value a row has a row's shape"
            outs.append(along)
        launch = kernel.launch(rows.shape, rows.dims, outs, [load.layout for load in used])
        if launch is not None:
            self._add_launch(results, launch, used, packed, rows.shape)
        return launch is not None

    def _reduction(self, expression: Expression, reducer: str, dtype: DType) -> ReductionKernel:
        runtime, what = self._runtime, self._what
        found: ReductionKernel = runtime.once(
            ("reduction", expression, reducer, dtype),
            lambda: ReductionKernel(runtime, what, expression, reducer, dtype),
        )
        return found

    def _add_launch(
        self,
        results: Sequence[tuple[int, DType, Layout]],
        launch: Launch,
        loads: Sequence[Load],
        packed: Packing,
        shape: Shape | None = None,
    ) -> None:
        """Add a launch; *shape* is that of the results which may be written where an operand is read."""
        arrays = tuple([self._number[load.slot] for load in loads])
        elsewhere = {
            self._number[load.slot] for load in loads if load.layout.shape != shape or 0 in load.layout.strides
        }
        seen = [(load.slot, load.layout) for load in loads]
        elsewhere |= {self._number[slot] for slot, layout in seen if any(s == slot and o != layout for s, o in seen)}
        for slot, _, _ in results:
            self._number[slot] = self._slots
            self._slots += 1
        made = tuple([
            self._given.get(slot, (dtype, layout.shape, layout.strides))
            for slot, dtype, layout in results
        ])  # fmt: skip
        in_place = frozenset(arrays) - elsewhere
        self._launches.append(_PlannedLaunch(made, launch, arrays, in_place, packed))


def pointwise_form(kernel: PointwiseKernel, outs: Sequence[Any], arrays: Sequence[Any]) -> Hashable:
    """`LoopsKernel.form` for a kernel that takes any layout."""
    runtime = kernel.runtime
    targets, layouts = [runtime.layout(out) for out in outs], [runtime.layout(array) for array in arrays]
    shape = targets[0].shape
    if any(layout.shape != shape for layout in targets) or not _dense_alike(shape, [*targets, *layouts]):
        return None
    return kernel, tuple([layout.shape == () != shape for layout in layouts])


def pointwise_into_many(
    form: tuple[PointwiseKernel, tuple[bool, ...]],
    outs: Sequence[Sequence[Any]],
    arrays: Sequence[Sequence[Any]],
    numbers: Sequence[Any],
) -> bool:
    """`LoopsKernel.into_many` for a kernel that takes any layout, of that `pointwise_form`."""
    kernel, single = form
    runtime = kernel.runtime
    if any(kernel.clash(*given) for given in zip(outs, arrays, strict=True)):
        return False
    found: TableKernel = runtime.once(
        ("table", kernel.expressions, single), lambda: TableKernel(runtime, kernel.what, kernel.expressions, single)
    )
    counts = [math.prod(runtime.layout(targets[0]).shape) for targets in outs]
    found([[*targets, *given] for targets, given in zip(outs, arrays, strict=True)], counts, kernel.packed(numbers))
    return True


def _slots_of_outs(loops: Loops, outs: Sequence[Layout]) -> dict[int, int]:
    """The slots for which arrays are given, with the number of the array: results as a loop computes them, which no
    other loop reads.
    """
    load = _slots_read(loops.loops, loops.loads)
    made = {slot: (dtype, layout) for loop in loops.loops for slot, dtype, layout in loop.results}
    found: dict[int, int] = {}
    for at, (result, dtype, out) in enumerate(zip(loops.results, loops.dtypes, outs, strict=True)):
        if result.slot not in load and made[result.slot] == (dtype, result.layout) and out.shape == result.layout.shape:
            found[result.slot] = at
    return found


def _lay_out(loop: Loop, given: dict[int, int], outs: Sequence[Layout]) -> Loop:
    """*loop* with the layouts of the arrays that are given for its results; a reduction writes row-major ones alone."""
    if loop.reducer is not None:
        for slot, _, _ in loop.results:
            given.pop(slot, None)
        return loop
    results = [(slot, dtype, outs[given[slot]] if slot in given else layout) for slot, dtype, layout in loop.results]
    return replace(loop, results=tuple(results))


def _dense_alike(shape: Shape, layouts: Sequence[Layout]) -> bool:
    """Whether the arrays of *shape* are dense and in one order, all others single numbers."""
    whole = [layout.strides for layout in layouts if layout.shape == shape]
    if any(layout.shape not in (shape, ()) for layout in layouts) or 0 in shape:
        return False
    sizes, strides = by_memory(shape, whole)
    return len(sizes) == 1 and (sizes[0] == 1 or all(own == (1,) for own in strides))


def _is_single(loop: Loop, load: Load) -> bool:
    """Whether *load* is a number for all of the places of *loop*."""
    return load.layout.shape == () and loop.shape != ()


def _slots_read(groups: Sequence[Loop | Rows], loads: Sequence[Load]) -> set[int]:
    """The slots that *groups* read."""
    loops = [loop for group in groups for loop in ([group] if isinstance(group, Loop) else group.loops)]
    return {
        loads[leaf.position].slot
        for loop in loops
        for leaf in leaves_of(*loop.expressions)
        if isinstance(leaf, Operand)
    }


def _renumber(
    expressions: Sequence[Expression], loads: Sequence[Load]
) -> tuple[tuple[Expression, ...], list[Load], Packing]:
    """The expressions with operands and numbers counted from 0, which reads those are, and what packs the numbers."""
    moved: dict[Expression, Expression] = {}
    used: list[Load] = []
    scalars: list[tuple[int, Scalar]] = []
    found = [leaf for leaf in leaves_of(*expressions) if isinstance(leaf, (Operand, Scalar))]
    for leaf in sorted(found, key=lambda leaf: leaf.position):
        if isinstance(leaf, Operand):
            moved[leaf] = Operand(len(used), leaf.dtype)
            used.append(loads[leaf.position])
        else:
            number = Scalar(len(scalars), leaf.dtype)
            moved[leaf] = number
            scalars.append((leaf.position, number))
    packed = Packing([number for _, number in scalars], [position for position, _ in scalars])
    return tuple(substituted(expressions, moved)), used, packed
