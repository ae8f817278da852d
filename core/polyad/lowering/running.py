"""Running a lowered body: its kernels, their arrays and numbers, for operands of known layouts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..backend.runtime import Launch, Runtime
from ..base.dtypes import DType
from ..base.layout import Layout, Shape, broadcast_layout, contiguous_strides, reduced_shape
from ..codegen import Expression, Operand, RowValue, Scalar, by_memory
from ..codegen.expression import leaves_of, substituted
from ..codegen.kernels import PointwiseKernel, ReductionKernel, RowwiseKernel, TableKernel
from ..codegen.kernels.numbers import Packing
from .rows import Rows, grouped
from .steps import Read, Step, Steps


class _Work(NamedTuple):
    """A launch, ready but for arrays and numbers."""

    results: tuple[Any, ...]  # each the dtype, shape and strides of a new array, or the number of a given one
    launch: Launch
    arrays: tuple[int, ...]
    in_place: frozenset[int]  # the arrays that are read at the place that is written, and nowhere else
    packed: Packing


class StepsKernel:
    """The kernels of *steps* on the device of *runtime*: ``kernel(arrays, numbers) -> arrays``.

    Steps over the same rows are one kernel where the device gains by it. Kernels are shared by all layouts, and by all
    ops that compute the same.
    """

    def __init__(
        self, runtime: Runtime, what: str, steps: Steps, operands: int, outs: Sequence[Layout] | None = None
    ) -> None:
        """*outs* are the layouts of arrays that are given for the results, for a kernel that is called by `into`."""
        self._runtime = runtime
        self._what = what
        self._slots = operands
        self._steps = steps
        self._operands = operands
        self._number = {slot: slot for slot in range(operands)}  # from a slot to its place in a call's list of arrays
        self._works: list[_Work] = []
        self._given: dict[int, Any] = {} if outs is None else _written_straight(steps, outs)
        groups = grouped([_laid_out(step, self._given, outs or ()) for step in steps.steps], steps.reads)
        wanted = {read.slot for read in steps.results}
        for at, group in enumerate(groups):
            if isinstance(group, Step):
                self._add(group, steps.reads)
            elif len(group.steps) == 1 or not self._add_rows(group, wanted | _read_by(groups[at + 1 :], steps.reads)):
                for step in group.steps:
                    self._add(step, steps.reads)
        self._risky = self._risks(operands)
        whole = {slot: layout for step in steps.steps for slot, _, layout in step.results}
        self._results = [
            (self._number[read.slot], None if read.layout == whole[read.slot] else read.layout, dtype)
            for read, dtype in zip(steps.results, steps.dtypes, strict=True)
        ]

    def __call__(self, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> tuple[Any, ...]:
        """New arrays."""
        slots = self._run(arrays, numbers, ())
        return tuple([
            slots[at] if seen is None else self._seen(slots[at], dtype, seen) for at, seen, dtype in self._results
        ])  # fmt: skip

    def into(self, outs: Sequence[Any], arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> bool:
        """Write the results to *outs*, of the layouts given; False, and nothing is done, if what is written before it
        is read would be lost.
        """
        if self._spoils(outs, arrays):
            return False
        slots = self._run(arrays, numbers, outs)
        for out, (at, seen, dtype) in zip(outs, self._results, strict=True):
            if slots[at] is not out:
                self._runtime.backend.copy(out, slots[at] if seen is None else self._seen(slots[at], dtype, seen))
        return True

    def _seen(self, array: Any, dtype: DType, layout: Layout) -> Any:
        backend = self._runtime.backend
        return backend.as_strided(backend.root(array), dtype, *layout)

    @property
    def form(self) -> Hashable:
        """What kernels have in common that `into_many` may run together; None for one that runs alone.

        All that they read and write is dense and of one layout, or a single number.
        """
        if not self._runtime.dialect.addresses:
            return None
        found: list[Any] = [tuple(sorted(self._given.items())), self._results_form()]
        for step in self._steps.steps:
            expressions, used, _ = _numbered(step.expressions, self._steps.reads)
            arrays = [layout for _, _, layout in step.results] + [read.layout for read in used]
            if step.reducer is not None or not _side_by_side(step.shape, arrays):
                return None
            made = tuple([(slot, dtype) for slot, dtype, _ in step.results])
            found.append(
                (expressions, made, tuple([(read.slot, _is_single(step, read)) for read in used]), step.shape == ())
            )
        return tuple(found)

    def _results_form(self) -> tuple[int, ...] | None:
        """The slots of the results; None if one is a view of what was computed."""
        seen = [seen for _, seen, _ in self._results]
        return tuple([read.slot for read in self._steps.results]) if not any(seen) else None

    @staticmethod
    def into_many(
        kernels: Sequence[StepsKernel],
        outs: Sequence[Sequence[Any]],
        arrays: Sequence[Sequence[Any]],
        numbers: Sequence[Any],
    ) -> bool:
        """`into` for each of *kernels*, of one form and with the same *numbers*, by a launch for each step; False, and
        nothing is done, if an array had better be copied first.
        """
        first = kernels[0]
        runtime, backend, what = first._runtime, first._runtime.backend, first._what
        if any(kernel._spoils(*given) for kernel, *given in zip(kernels, outs, arrays, strict=True)):
            return False
        slots = [dict(enumerate(given)) for given in arrays]
        for at, step in enumerate(first._steps.steps):
            expressions, used, packed = _numbered(step.expressions, first._steps.reads)
            single = tuple([_is_single(step, read) for read in used])
            kernel: TableKernel = runtime.once(
                ("table", expressions, single),
                partial(TableKernel, runtime, what, expressions, single),
            )
            rows, counts = [], []
            for each, known, targets in zip(kernels, slots, outs, strict=True):
                own = each._steps.steps[at]
                for slot, dtype, layout in own.results:
                    place = each._given.get(slot)
                    known[slot] = (
                        targets[place] if place is not None else runtime.empty(dtype, layout.shape, layout.strides)
                    )
                rows.append([*(known[slot] for slot, _, _ in own.results), *(known[read.slot] for read in used)])
                counts.append(math.prod(own.shape))
            kernel(rows, counts, packed(numbers))
        for each, known, targets in zip(kernels, slots, outs, strict=True):
            for target, read in zip(targets, each._steps.results, strict=True):
                if known[read.slot] is not target:
                    backend.copy(target, known[read.slot])
        return True

    def _run(self, arrays: Sequence[Any], numbers: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        empty = self._runtime.empty
        slots = list(arrays)
        for work in self._works:
            made = [empty(*wanted) if wanted.__class__ is tuple else outs[wanted] for wanted in work.results]
            slots += made
            work.launch((*made, *[slots[at] for at in work.arrays]), work.packed(numbers))
        return slots

    def _spoils(self, outs: Sequence[Any], arrays: Sequence[Any]) -> bool:
        """Whether an operand that is still to be read lies where a kernel writes, other than at the same places."""
        runtime = self._runtime
        for at, operand, in_place in self._risky:
            out, array = outs[at], arrays[operand]
            if (out is array or runtime.same_memory(out, array)) and not (in_place and runtime.same_place(out, array)):
                return True
        return False

    def _risks(self, operands: int) -> list[tuple[int, int, bool]]:
        """Of the given arrays and the operands, by number, those that must not lie in one memory; or may only at the
        same place, if the last is True.
        """
        found = []
        for at in self._given.values():
            for operand in range(operands):
                written, risky, in_place = False, False, True
                for work in self._works:
                    reads = operand in work.arrays
                    if written and reads:
                        risky, in_place = True, False
                    if at in work.results:
                        written = True
                        if reads:
                            risky, in_place = True, in_place and operand in work.in_place
                if risky:
                    found.append((at, operand, in_place))
        return found

    def _add(self, step: Step, reads: Sequence[Read]) -> None:
        expressions, used, packed = _numbered(step.expressions, reads)
        runtime, what = self._runtime, self._what
        operands = [broadcast_layout(read.layout, step.shape) for read in used]
        if step.reducer is None:
            kernel = runtime.once(("pointwise", expressions), lambda: PointwiseKernel(runtime, what, expressions))
            launch = kernel.launch(step.shape, [layout for _, _, layout in step.results], operands)
            self._work(step.results, launch, used, packed, step.shape)
            return
        (slot, dtype, layout), (expression,), reducer = step.results[0], expressions, step.reducer
        launch, splits = self._reduction(expression, reducer, dtype).launch(step.shape, step.dims, operands)
        if splits == 1:
            self._work(step.results, launch, used, packed)
            return
        partial = expression.dtype
        parts = (splits, *reduced_shape(step.shape, step.dims, False))
        between = Layout(parts, contiguous_strides(parts), 0)
        self._work([(-1 - slot, partial, between)], launch, used, packed)
        launch, _ = self._reduction(Operand(0, partial), reducer, dtype).launch(parts, (0,), [between], may_split=False)
        self._work([(slot, dtype, layout)], launch, [Read(-1 - slot, between)], Packing(()))

    def _add_rows(self, rows: Rows, wanted: set[int]) -> bool:
        """Add *rows* as one kernel; False if the device had better take its steps one by one.

        Of the values that rows have, those in the slots *wanted* are written.
        """
        rows.lift()
        written = [slot for slot in rows.stage_of if slot in wanted]
        values = [RowValue(rows.stage_of[slot], rows.results[slot][1]) for slot in written]
        every = [*(s.expression for s in rows.stages), *(each for each, _ in rows.elements), *values]
        found, used, packed = _numbered(every, rows.reads)
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
            along = rows.spread(layout, layout.shape)
            assert along is not None, "a value a row has a row's shape"
            outs.append(along)
        launch = kernel.launch(rows.shape, rows.dims, outs, [read.layout for read in used])
        if launch is not None:
            self._work(results, launch, used, packed, rows.shape)
        return launch is not None

    def _reduction(self, expression: Expression, reducer: str, dtype: DType) -> ReductionKernel:
        runtime, what = self._runtime, self._what
        found: ReductionKernel = runtime.once(
            ("reduction", expression, reducer, dtype),
            lambda: ReductionKernel(runtime, what, expression, reducer, dtype),
        )
        return found

    def _work(
        self,
        results: Sequence[tuple[int, DType, Layout]],
        launch: Launch,
        reads: Sequence[Read],
        packed: Packing,
        shape: Shape | None = None,
    ) -> None:
        """Add a launch; *shape* is that of the results which may be written where an operand is read."""
        arrays = tuple([self._number[read.slot] for read in reads])
        elsewhere = {
            self._number[read.slot] for read in reads if read.layout.shape != shape or 0 in read.layout.strides
        }
        seen = [(read.slot, read.layout) for read in reads]
        elsewhere |= {self._number[slot] for slot, layout in seen if any(s == slot and o != layout for s, o in seen)}
        for slot, _, _ in results:
            self._number[slot] = self._slots
            self._slots += 1
        made = tuple([
            self._given.get(slot, (dtype, layout.shape, layout.strides))
            for slot, dtype, layout in results
        ])  # fmt: skip
        in_place = frozenset(arrays) - elsewhere
        self._works.append(_Work(made, launch, arrays, in_place, packed))


def pointwise_form(kernel: PointwiseKernel, outs: Sequence[Any], arrays: Sequence[Any]) -> Hashable:
    """`StepsKernel.form` for a kernel that takes any layout."""
    runtime = kernel.runtime
    targets, layouts = [runtime.layout(out) for out in outs], [runtime.layout(array) for array in arrays]
    shape = targets[0].shape
    if any(layout.shape != shape for layout in targets) or not _side_by_side(shape, [*targets, *layouts]):
        return None
    return kernel, tuple([layout.shape == () != shape for layout in layouts])


def pointwise_into_many(
    form: tuple[PointwiseKernel, tuple[bool, ...]],
    outs: Sequence[Sequence[Any]],
    arrays: Sequence[Sequence[Any]],
    numbers: Sequence[Any],
) -> bool:
    """`StepsKernel.into_many` for a kernel that takes any layout, of that `pointwise_form`."""
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


def _written_straight(steps: Steps, outs: Sequence[Layout]) -> dict[int, int]:
    """The slots for which arrays are given, with the number of the array: results as a step computes them, which no
    other step reads.
    """
    read = _read_by(steps.steps, steps.reads)
    made = {slot: (dtype, layout) for step in steps.steps for slot, dtype, layout in step.results}
    found: dict[int, int] = {}
    for at, (result, dtype, out) in enumerate(zip(steps.results, steps.dtypes, outs, strict=True)):
        if result.slot not in read and made[result.slot] == (dtype, result.layout) and out.shape == result.layout.shape:
            found[result.slot] = at
    return found


def _laid_out(step: Step, given: dict[int, int], outs: Sequence[Layout]) -> Step:
    """*step* with the layouts of the arrays that are given for its results; a reduction writes row-major ones alone."""
    if step.reducer is not None:
        for slot, _, _ in step.results:
            given.pop(slot, None)
        return step
    results = [(slot, dtype, outs[given[slot]] if slot in given else layout) for slot, dtype, layout in step.results]
    return replace(step, results=tuple(results))


def _side_by_side(shape: Shape, layouts: Sequence[Layout]) -> bool:
    """Whether the arrays of *shape* are dense and in one order, all others single numbers."""
    whole = [layout.strides for layout in layouts if layout.shape == shape]
    if any(layout.shape not in (shape, ()) for layout in layouts) or 0 in shape:
        return False
    sizes, steps = by_memory(shape, whole)
    return len(sizes) == 1 and (sizes[0] == 1 or all(step == (1,) for step in steps))


def _is_single(step: Step, read: Read) -> bool:
    """Whether *read* is a number for all of the places of *step*."""
    return read.layout.shape == () and step.shape != ()


def _read_by(groups: Sequence[Step | Rows], reads: Sequence[Read]) -> set[int]:
    """The slots that *groups* read."""
    steps = [step for group in groups for step in ([group] if isinstance(group, Step) else group.steps)]
    return {
        reads[leaf.position].slot
        for step in steps
        for leaf in leaves_of(*step.expressions)
        if isinstance(leaf, Operand)
    }


def _numbered(
    expressions: Sequence[Expression], reads: Sequence[Read]
) -> tuple[tuple[Expression, ...], list[Read], Packing]:
    """The expressions with operands and numbers counted from 0, which reads those are, and what packs the numbers."""
    moved: dict[Expression, Expression] = {}
    used: list[Read] = []
    scalars: list[tuple[int, Scalar]] = []
    found = [leaf for leaf in leaves_of(*expressions) if isinstance(leaf, (Operand, Scalar))]
    for leaf in sorted(found, key=lambda leaf: leaf.position):
        if isinstance(leaf, Operand):
            moved[leaf] = Operand(len(used), leaf.dtype)
            used.append(reads[leaf.position])
        else:
            number = Scalar(len(scalars), leaf.dtype)
            moved[leaf] = number
            scalars.append((leaf.position, number))
    packed = Packing([number for _, number in scalars], [position for position, _ in scalars])
    return tuple(substituted(expressions, moved)), used, packed
