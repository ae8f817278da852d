"""What a lowered body does with a device's memory: a few kernels, one after the other.

A *read* is a view of an array: of an operand, or of what an earlier step computed. Expressions name reads by number.
A step computes expressions at each place of its shape, or reduces one along some of its dimensions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..backend.runtime import Launch, Runtime
from ..codegen import Expression, Operand, Scalar
from ..codegen.expression import leaves_of, substituted
from ..codegen.kernels import PointwiseKernel, ReductionKernel
from ..codegen.kernels.numbers import Pack, packed, packers
from ..dtypes import DType
from ..layout import Layout, Shape, Strides, broadcast_strides, contiguous_strides, reduced_shape


class Read(NamedTuple):
    """A view of the array in a slot: an operand's, or what a step computed."""

    slot: int
    layout: Layout


@dataclass(frozen=True)
class Step:
    """One kernel's work.

    Attributes:
        expressions: what it computes at each place of *shape*; for a reduction there is one.
        results: slot, dtype and layout of each result.
        reducer, dims: how, and along which dimensions, a reduction reduces; None for what is computed at each place.
    """

    shape: Shape
    expressions: tuple[Expression, ...]
    results: tuple[tuple[int, DType, Layout], ...]
    reducer: str | None = None
    dims: tuple[int, ...] = ()


@dataclass(frozen=True)
class Steps:
    """A lowered body for operands of known layouts.

    Attributes:
        reads: the views that the expressions name.
        steps: in order.
        results: the read that each result is.
        dtypes: theirs.
    """

    reads: tuple[Read, ...]
    steps: tuple[Step, ...]
    results: tuple[Read, ...]
    dtypes: tuple[DType, ...]


class _Work(NamedTuple):
    """A launch, ready but for arrays and numbers."""

    empty: tuple[tuple[DType, Shape, Strides], ...]
    launch: Launch
    arrays: tuple[int, ...]
    numbers: tuple[int, ...]
    packers: Sequence[Pack]


class StepsKernel:
    """The kernels of *steps* on the device of *runtime*: ``kernel(arrays, numbers) -> arrays``.

    Kernels are shared by all layouts, and by all ops that compute the same.
    """

    def __init__(self, runtime: Runtime, what: str, steps: Steps, operands: int) -> None:
        self._runtime = runtime
        self._what = what
        self._reads = steps.reads
        self._slots = operands
        self._number: dict[int, int] = {}  # from the slots of *steps* to the places in a call's list of arrays
        self._works: list[_Work] = []
        for slot in range(operands):
            self._number[slot] = slot
        for step in steps.steps:
            self._add(step)
        whole = {slot: layout for step in steps.steps for slot, _, layout in step.results}
        self._results = [
            (self._number[read.slot], None if read.layout == whole[read.slot] else read.layout, dtype)
            for read, dtype in zip(steps.results, steps.dtypes, strict=True)
        ]

    def __call__(self, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> tuple[Any, ...]:
        """New arrays."""
        empty = self._runtime.empty
        slots = list(arrays)
        for work in self._works:
            made = [empty(*wanted) for wanted in work.empty]
            slots += made
            given = packed(work.packers, [numbers[at] for at in work.numbers]) if work.numbers else ()
            work.launch((*made, *[slots[at] for at in work.arrays]), given)
        backend = self._runtime.backend
        return tuple([
            slots[at] if seen is None else backend.as_strided(backend.root(slots[at]), dtype, *seen)
            for at, seen, dtype in self._results
        ])  # fmt: skip

    def into(self, outs: Sequence[Any], arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> None:
        """Write the results to *outs*, which may overlap operands."""
        for out, result in zip(outs, self(arrays, numbers), strict=True):
            self._runtime.backend.copy(out, result)

    def _add(self, step: Step) -> None:
        expressions, reads, scalars = self._numbered(step.expressions)
        operands = [
            Layout(
                step.shape, broadcast_strides(read.layout.shape, read.layout.strides, step.shape), read.layout.offset
            )
            for read in reads
        ]
        arrays = tuple([self._number[read.slot] for read in reads])
        runtime, number_packers = self._runtime, packers([scalar for scalar, _ in scalars])
        numbers = tuple([at for _, at in scalars])

        def work(made: Sequence[tuple[int, DType, Layout]], launch: Any, arrays: Any, scalars: bool = True) -> None:
            for slot, _, _ in made:
                self._number[slot] = self._slots
                self._slots += 1
            wanted = tuple([(dtype, layout.shape, layout.strides) for _, dtype, layout in made])
            self._works.append(
                _Work(wanted, launch, arrays, numbers if scalars else (), number_packers if scalars else ())
            )

        if step.reducer is None:
            kernel = self._shared(("pointwise", expressions), lambda: PointwiseKernel(runtime, self._what, expressions))
            outs = [layout for _, _, layout in step.results]
            work(step.results, kernel.launch(step.shape, outs, operands), arrays)
            return
        (slot, dtype, layout), (expression,), reducer = step.results[0], expressions, step.reducer
        partial = expression.dtype
        reduce = self._shared(
            ("reduction", expression, reducer, dtype),
            lambda: ReductionKernel(runtime, self._what, expression, reducer, dtype),
        )
        launch, splits = reduce.launch(step.shape, step.dims, operands)
        if splits == 1:
            work(step.results, launch, arrays)
            return
        parts = (splits, *reduced_shape(step.shape, step.dims, False))
        between = Layout(parts, contiguous_strides(parts), 0)
        work([(-1 - slot, partial, between)], launch, arrays)
        second = self._shared(
            ("reduction", Operand(0, partial), reducer, dtype),
            lambda: ReductionKernel(runtime, self._what, Operand(0, partial), reducer, dtype),
        )
        launch, _ = second.launch(parts, (0,), [between], may_split=False)
        work([(slot, dtype, layout)], launch, (self._number[-1 - slot],), scalars=False)

    def _shared(self, key: Hashable, make: Any) -> Any:
        shared = self._runtime.shared
        found = shared.get(key)
        if found is None:
            found = shared.setdefault(key, make())
        return found

    def _numbered(
        self, expressions: Sequence[Expression]
    ) -> tuple[tuple[Expression, ...], list[Read], list[tuple[Scalar, int]]]:
        """The expressions with operands and scalars numbered as this kernel has them, and which those are."""
        moved: dict[Expression, Expression] = {}
        reads: list[Read] = []
        scalars: list[tuple[Scalar, int]] = []
        found = [leaf for leaf in leaves_of(*expressions) if isinstance(leaf, (Operand, Scalar))]
        for leaf in sorted(found, key=lambda leaf: leaf.position):
            if isinstance(leaf, Operand):
                moved[leaf] = Operand(len(reads), leaf.dtype)
                reads.append(self._reads[leaf.position])
            else:
                moved[leaf] = Scalar(len(scalars), leaf.dtype)
                scalars.append((Scalar(len(scalars), leaf.dtype), leaf.position))
        return tuple(substituted(expressions, moved)), reads, scalars
