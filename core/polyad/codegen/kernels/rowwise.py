"""Kernels of several stages over the same rows, on any device with a runtime."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ...backend.runtime import Launch, Runtime
from ...base.layout import Layout, Shape
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
        key = plan.across, plan.team, plan.group, plan.kept_rank, plan.reduced_rank, plan.inner, plan.unroll, plan.pack
        found = self._compiled.get(key)
        if found is None:
            runtime = self.runtime
            source = rowwise(
                self.stages, self.elements, self.rows, runtime.dialect, runtime.description, across=plan.across,
                team=plan.team, group=plan.group, kept_rank=plan.kept_rank, reduced_rank=plan.reduced_rank,
                inner=plan.inner, unroll=plan.unroll, pack=plan.pack,
            )  # fmt: skip
            found = self._compiled[key] = runtime.compile(source, self.what)
        return found
