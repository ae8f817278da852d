"""Kernels that reduce: sums, products, extremes of any expression of arrays, on any device with a runtime."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from ...backend.runtime import Runtime
from ...base.dtypes import DType
from ...base.shapes_and_strides import (
    Layout,
    Shape,
    broadcast_layout,
    broadcast_shapes,
    contiguous_strides,
    reduced_shape,
)
from ..accumulators import identity, unroll_for
from ..elementwise import Leaves, lanes_for
from ..expression import Expression, Iota, Operand, cast
from ..packs import pack_for
from ..reduction import ReductionPlan, reduction, reduction_plan
from .layouts import LayoutCache
from .numbers import Packing


class ReductionKernel:
    """A reduction of an expression of arrays on the device of *runtime*: ``kernel(arrays, dims, keepdim) -> array``.

    The result has *dtype* and is row-major. Where an operand of the expression is a `polyad.codegen.Iota`, its strides
    along the dimensions of the others stand among the arrays. *what* names the kernel in errors.
    """

    __slots__ = (
        "_compiled", "_known", "_lanes", "_pack", "_packed", "_places", "_second", "_unroll", "dtype",
        "expression", "reducer", "runtime", "what",
    )  # fmt: skip

    def __init__(self, runtime: Runtime, what: str, expression: Expression, reducer: str, dtype: DType) -> None:
        self.runtime = runtime
        self.what = what
        self.expression = expression
        self.reducer = reducer
        self.dtype = dtype
        leaves = Leaves.of([expression])
        self._places = any(isinstance(operand, Iota) for operand in leaves.operands)
        self._packed = Packing(leaves.scalars)
        self._lanes = lanes_for([expression, cast(expression, dtype)], runtime.dialect, runtime.description)
        self._unroll = unroll_for(expression)
        self._pack = pack_for([expression], runtime.dialect, runtime.description)
        self._compiled: dict[Hashable, Any] = {}
        self._known: LayoutCache[Any] = LayoutCache()
        self._second: ReductionKernel | None = None

    def __call__(self, arrays: Sequence[Any], dims: tuple[int, ...], keepdim: bool, numbers: Sequence[Any] = ()) -> Any:
        """The reduction along *dims* of the shape to which the arrays broadcast."""
        runtime = self.runtime
        held = [array for array in arrays if array.__class__ is not tuple] if self._places else arrays
        key = dims, keepdim, runtime.key(held), *[array for array in arrays if array.__class__ is tuple]
        found = self._known.get(key)
        if found is None:
            found = self._known.add(key, self._plan(arrays, dims, keepdim))
        shape, steps, launch, splits = found
        if splits > 1:
            partial = runtime.empty(self.expression.dtype, (splits, *shape), (math.prod(shape), *steps))
            launch((partial, *held), self._packed(numbers))
            return self._finish(partial)
        result = runtime.empty(self.dtype, shape, steps)
        if launch is not None:
            launch((result, *held), self._packed(numbers))
        elif math.prod(shape):
            runtime.backend.fill(result, identity(self.reducer, self.expression.dtype))
        return result

    def _finish(self, partial: Any) -> Any:
        if self._second is None:
            operand = Operand(0, self.expression.dtype)
            self._second = ReductionKernel(self.runtime, self.what, operand, self.reducer, self.dtype)
        return self._second((partial,), (0,), False)

    def _plan(self, arrays: Sequence[Any], dims: tuple[int, ...], keepdim: bool) -> Any:
        runtime = self.runtime
        layouts = [None if array.__class__ is tuple else runtime.layout(array) for array in arrays]
        shape = broadcast_shapes(*[layout.shape for layout in layouts if layout is not None])
        operands = [
            Layout(shape, array, 0) if layout is None else broadcast_layout(layout, shape)
            for layout, array in zip(layouts, arrays, strict=True)
        ]
        result = reduced_shape(shape, dims, keepdim)
        launch, splits = self.launch(shape, dims, operands)
        return result, contiguous_strides(result), launch, splits

    def launch(self, shape: Shape, dims: tuple[int, ...], operands: Sequence[Layout], may_split: bool = True) -> Any:
        """What reduces *operands*, all laid out along *shape*, into a row-major array, and how many partial results it
        leaves for each element; None in place of it if nothing is reduced.
        """
        if 0 in shape:
            return None, 1
        runtime = self.runtime
        plan = reduction_plan(
            self._lanes,
            runtime.description,
            shape,
            dims,
            [operand.strides for operand in operands],
            [operand.offset for operand in operands],
            result=contiguous_strides(reduced_shape(shape, dims, False)),
            unroll=self._unroll,
            pack=self._pack,
            may_split=may_split,
        )
        return runtime.launcher(self._kernel(plan), plan.instances, plan.geometry), plan.splits

    def _kernel(self, plan: ReductionPlan) -> Any:
        runtime = self.runtime
        dtype = self.expression.dtype if plan.splits > 1 else self.dtype
        key = plan.variant, dtype
        found = self._compiled.get(key)
        if found is None:
            source = reduction(
                self.expression, self.reducer, runtime.dialect, runtime.description, result=dtype,
                variant=plan.variant,
            )  # fmt: skip
            found = self._compiled[key] = runtime.compile(source, self.what)
        return found
