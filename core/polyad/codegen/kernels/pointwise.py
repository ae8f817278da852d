"""Kernels that compute element by element: any expressions of arrays, on any device with a runtime.

A kernel keeps, for each combination of layouts that it met, everything that a launch needs: a later call looks up a
key, allocates and launches.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from ...backend.runtime import Launch, Runtime
from ...base.dtypes import DType
from ...base.shapes_and_strides import Layout, Shape, Strides, broadcast_shapes
from ..collapse import broadcast_strides, result_strides
from ..elementwise import ElementwisePlan, Leaves, elementwise, elementwise_plan, lanes_for
from ..expression import Expression, Operand
from ..packs import pack_for
from .layouts import LayoutCache
from .numbers import Packing


def check_one_shape(operands: Sequence[Layout]) -> None:
    """Raise ValueError if operands that do not broadcast have several shapes; 0-d ones are numbers."""
    if len({operand.shape for operand in operands} - {()}) > 1:
        raise ValueError("the operands have several shapes")


def moving(runtime: Runtime, dtype: DType) -> PointwiseKernel:
    """The kernel that copies elements of *dtype*."""
    kernel: PointwiseKernel = runtime.once(
        ("moving", dtype), lambda: PointwiseKernel(runtime, f"copy {dtype.name}", [Operand(0, dtype)])
    )
    return kernel


class PointwiseKernel:
    """Expressions of arrays on the device of *runtime*, a result each: ``kernel(arrays, numbers) -> arrays``.

    *what* names the kernel in errors: an op and its dtypes. Without *broadcasts* the operands have one shape, 0-d ones
    apart.

    Attributes:
        packed: from numbers to what a launch gets for them.
    """

    __slots__ = (
        "_broadcasts", "_compiled", "_known", "_lanes", "_operand_dtypes", "_pack", "dtypes", "expressions",
        "packed", "runtime", "what",
    )  # fmt: skip

    def __init__(self, runtime: Runtime, what: str, expressions: Sequence[Expression], broadcasts: bool = True) -> None:
        self.runtime = runtime
        self.what = what
        self.expressions = tuple(expressions)
        self.dtypes = tuple(expression.dtype for expression in expressions)
        self._lanes = lanes_for(self.expressions, runtime.dialect, runtime.description)
        self._pack = pack_for(self.expressions, runtime.dialect, runtime.description)
        leaves = Leaves.of(self.expressions)
        self.packed = Packing(leaves.scalars)
        self._broadcasts = broadcasts
        self._operand_dtypes = [operand.dtype for operand in leaves.operands]
        self._compiled: dict[Hashable, Any] = {}
        self._known: LayoutCache[Any] = LayoutCache()

    def __call__(self, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> tuple[Any, ...]:
        """New results, in the order in memory that the operands give them. Operands broadcast."""
        runtime = self.runtime
        key = runtime.key(arrays)
        found = self._known.get(key)
        if found is None:
            found = self._known.add(key, self._plan([runtime.layout(array) for array in arrays]))
        shape, steps, launch = found
        results = tuple([runtime.empty(dtype, shape, steps) for dtype in self.dtypes])
        if launch is not None:
            launch((*results, *arrays), self.packed(numbers) if numbers else ())
        return results

    def into(self, outs: Sequence[Any], arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> None:
        """Write the results to *outs*, which have the results' dtypes and shape; operands may overlap them."""
        runtime = self.runtime
        key = "into", runtime.key((*outs, *arrays))
        found = self._known.get(key)
        if found is None:
            to = [runtime.layout(out) for out in outs]
            found = self._known.add(key, (self._plan_into(to, [runtime.layout(array) for array in arrays]),))
        if self.clash(outs, arrays):
            # As arrays of the kernel's dtypes, which the arrays' need not be: `copying` moves floats as integers.
            for out, result, dtype in zip(outs, self(arrays, numbers), self.dtypes, strict=True):
                moving(runtime, dtype).into((out,), (result,))
        elif found[0] is not None:
            found[0]((*outs, *arrays), self.packed(numbers) if numbers else ())

    def clash(self, outs: Sequence[Any], arrays: Sequence[Any]) -> bool:
        """Whether writing *outs* element by element could spoil an element that is still to be read."""
        runtime = self.runtime
        for out, dtype in zip(outs, self.dtypes, strict=True):
            for array, own in zip(arrays, self._operand_dtypes, strict=True):
                if (
                    out is not array
                    and runtime.same_memory(out, array)
                    and not (own is dtype and runtime.same_place(out, array))
                ):
                    return True
        return False

    def _plan(self, operands: Sequence[Layout]) -> tuple[Shape, Strides, Launch | None]:
        shape = broadcast_shapes(*[layout.shape for layout in operands])
        spread = [broadcast_strides(layout.shape, layout.strides, shape) for layout in operands]
        steps = result_strides(shape, spread)
        return shape, steps, self.launch(shape, [Layout(shape, steps, 0)] * len(self.dtypes), operands)

    def _plan_into(self, outs: Sequence[Layout], operands: Sequence[Layout]) -> Launch | None:
        shape = outs[0].shape
        if any(out.shape != shape for out in outs) or broadcast_shapes(shape, *[o.shape for o in operands]) != shape:
            raise ValueError(f"operands {[layout.shape for layout in operands]} do not broadcast to {shape}")
        return self.launch(shape, outs, operands)

    def launch(self, shape: Shape, outs: Sequence[Layout], operands: Sequence[Layout]) -> Launch | None:
        """What computes arrays laid out as *outs*, all of *shape*, from *operands*; None if there are no elements."""
        runtime = self.runtime
        if not self._broadcasts:
            check_one_shape(operands)
        plan = elementwise_plan(
            self._lanes,
            runtime.description,
            shape,
            [*[out.strides for out in outs], *[broadcast_strides(o.shape, o.strides, shape) for o in operands]],
            [layout.offset for layout in (*outs, *operands)],
            len(self.dtypes),
            self._pack,
        )
        if not math.prod(shape):
            return None
        return runtime.launcher(self._kernel(plan), plan.instances, plan.geometry)

    def _kernel(self, plan: ElementwisePlan) -> Any:
        key = plan.rank, plan.inner, plan.stream, plan.pack
        found = self._compiled.get(key)
        if found is None:
            runtime = self.runtime
            source = elementwise(self.expressions, runtime.dialect, runtime.description, *key)
            found = self._compiled[key] = runtime.compile(source, self.what)
        return found
