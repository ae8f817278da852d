"""Kernels of several stages over the same rows, on any device with a runtime."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ...backend.runtime import Launch, Runtime
from ...base.shapes_and_strides import Layout, Shape
from ..expression import Expression
from ..rowwise import RowwisePlan, Stage, rowwise, rowwise_lanes, rowwise_pack, rowwise_plan, rowwise_unroll


class RowwiseKernel:
    """Stages over rows, and what is written of them, on the device of *runtime*; see `polyad.codegen.rowwise`.

    *what* names the kernel in errors.
    """

    __slots__ = ("_compiled", "_lanes", "_pack", "_unroll", "elements", "rows", "runtime", "stages", "what")

    def __init__(
        self,
        runtime: Runtime,
        what: str,
        stages: Sequence[Stage],
        elements: Sequence[Expression],
        rows: Sequence[Expression],
    ) -> None:
        self.runtime = runtime
        self.what = what
        self.stages = tuple(stages)
        self.elements = tuple(elements)
        self.rows = tuple(rows)
        self._lanes = rowwise_lanes(self.stages, self.elements, self.rows, runtime.dialect, runtime.description)
        self._pack = rowwise_pack(self.stages, self.elements, self.rows, runtime.dialect, runtime.description)
        self._unroll = rowwise_unroll(self.stages)
        self._compiled: dict[Hashable, Any] = {}

    def launch(
        self, shape: Shape, dims: tuple[int, ...], outs: Sequence[Layout], operands: Sequence[Layout]
    ) -> Launch | None:
        """What computes *outs*, those of the elements and then those of the rows, from *operands*; all are laid out
        along *shape*, whose dimensions *dims* make a row. None where rows are so few that they had better be split.
        """
        runtime = self.runtime
        arrays = (*outs, *operands)
        plan = rowwise_plan(
            self._lanes,
            runtime.description,
            shape,
            dims,
            [layout.strides for layout in arrays],
            [layout.offset for layout in arrays],
            elements=len(self.elements),
            rows=len(self.rows),
            unroll=self._unroll,
            pack=self._pack,
        )
        return None if plan.splits else runtime.launcher(self._kernel(plan), plan.instances, plan.geometry)

    def _kernel(self, plan: RowwisePlan) -> Any:
        found = self._compiled.get(plan.variant)
        if found is None:
            runtime = self.runtime
            source = rowwise(
                self.stages, self.elements, self.rows, runtime.dialect, runtime.description, variant=plan.variant
            )
            found = self._compiled[plan.variant] = runtime.compile(source, self.what)
        return found
