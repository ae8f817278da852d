"""Kernels that `polyad.codegen` generates: from expressions to launches.

`Fused` is an op of one signature: results that are expressions of operands that broadcast. `Reduced` is a reduction of
such an expression. Both keep, for each layout that they met, everything that a launch needs, so that a later call looks
up a key, sets pointers and enqueues. Which kernel a layout takes is `polyad.codegen`'s business.

Numbers are arguments of kernels, packed by `packers`; arrays that only broadcast are read where they lie.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyopencl as cl

from polyad.codegen import (
    CPU,
    GPU,
    OPENCL_C,
    DeviceDescription,
    ElementwisePlan,
    Expression,
    KernelSource,
    Operand,
    broadcast_strides,
    cast,
    elementwise,
    elementwise_plan,
    reduction,
    reduction_plan,
    result_strides,
)
from polyad.codegen.elementwise import Leaves, lanes_for
from polyad.codegen.reduction import ReductionPlan, identity, unroll_for
from polyad.dtypes import FLOATING, DType, float64
from polyad.layout import contiguous_strides

from ..array import Array, new
from ..kernels.memory.conversion import copy, fill
from ..runtime.kept import kept

_enqueue = cl.enqueue_nd_range_kernel
_SMALLEST_CACHE = 1 << 24
"""Bytes; some drivers tell only of a second-level cache."""

_LAYOUTS = 4096
"""How many layouts an op keeps: a program with ever new shapes must not fill the memory."""

Pack = Callable[[Any], tuple[bytes, ...]]


@kept
def description(device: Any) -> DeviceDescription:
    """What the generator is told of *device*."""
    return DeviceDescription(
        kind=CPU if device.is_cpu else GPU,
        compute_units=device.compute_units,
        max_local_size=device.max_local_size,
        has_fp64=device.has_fp64,
        has_fp16=device.has_fp16,
        cache_bytes=max(_SMALLEST_CACHE, device.handle.global_mem_cache_size),
    )


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that *shapes* broadcast to. Raises ValueError if there is none."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for dim, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if result[dim] not in (1, size):
                    raise ValueError(f"shapes {shapes} do not broadcast")
                result[dim] = size
    return tuple(result)


# ------------------------------------------------------------------------------------------------ numbers

_FLOAT, _DOUBLE, _LONG = struct.Struct("f").pack, struct.Struct("d").pack, struct.Struct("q").pack


def _pack_float(value: float) -> bytes:
    try:
        return _FLOAT(value)
    except OverflowError:
        return _FLOAT(math.copysign(math.inf, value))


def _pack_long(value: int) -> bytes:
    value = int(value)
    return _LONG(value if -(2**63) <= value < 2**63 else (value + 2**63) % 2**64 - 2**63)


def packer(dtype: DType) -> Pack:
    """What turns a Python number, an element of *dtype*, into a kernel's arguments."""
    real = dtype.to_real()
    pack = _pack_long if real.category < FLOATING else _DOUBLE if real is float64 else _pack_float
    if not dtype.is_complex:
        return lambda value: (pack(value),)

    def both(value: Any) -> tuple[bytes, ...]:
        value = complex(value)
        return pack(value.real), pack(value.imag)

    return both


# ------------------------------------------------------------------------------------------------ launching


def _compiled(device: Any, source: KernelSource, what: str) -> Compiled:
    program = device.programs.get(source.text, "", what)
    try:
        return Compiled(device, cl.Kernel(program, source.name), what)
    except cl.Error as error:
        raise device.explained(error, what) from error


class Compiled(NamedTuple):
    """A kernel object on a device, and what it is for."""

    device: Any
    kernel: cl.Kernel
    what: str


class Launch:
    """A kernel with its geometry: all that a call of known layout needs besides pointers and numbers."""

    __slots__ = ("device", "geometry", "global_size", "kernel", "local_size", "what")

    def __init__(self, compiled: Compiled, instances: int, numbers: bytes) -> None:
        self.device, self.kernel, self.what = compiled
        local = description(self.device).local_size
        self.global_size = (-(-instances // local) * local,)
        self.local_size = (local,)
        self.geometry = numbers

    def __call__(self, buffers: Sequence[Any], numbers: Sequence[bytes] = ()) -> None:
        """Enqueue it; does not wait."""
        device, kernel, position = self.device, self.kernel, len(buffers)
        if device.trouble:
            device.check_usable()
        try:
            with device.lock:
                kernel._set_arg_multi(tuple([part for pair in enumerate(buffers) for part in pair]))
                last = position + len(numbers)
                if numbers:
                    values = [part for pair in enumerate(numbers, position) for part in pair]
                    kernel._set_arg_buf_multi((*values, last, self.geometry))
                else:
                    kernel._set_arg_buf(last, self.geometry)
                _enqueue(device.queue, kernel, self.global_size, self.local_size)
        except cl.Error as error:
            raise device.explained(error, self.what) from error


class Fused:
    """Elementwise results of arrays on *device*, each an expression: ``fused(arrays, numbers) -> arrays``."""

    __slots__ = ("_compiled", "_known", "_lanes", "device", "dtypes", "expressions", "what")

    def __init__(self, device: Any, what: str, expressions: Sequence[Expression]) -> None:
        self.device = device
        self.what = what
        self.expressions = tuple(expressions)
        self.dtypes = tuple(expression.dtype for expression in expressions)
        self._lanes = lanes_for(self.expressions, OPENCL_C, description(device))
        self._compiled: dict[Any, Compiled] = {}
        self._known: dict[Any, Any] = {}

    def kernel(self, plan: ElementwisePlan) -> Compiled:
        """The compiled kernel that *plan* takes."""
        key = (plan.rank, plan.inner, plan.stream)
        found = self._compiled.get(key)
        if found is None:
            source = elementwise(self.expressions, OPENCL_C, description(self.device), *key)
            found = self._compiled[key] = _compiled(self.device, source, self.what)
        return found

    def __call__(self, arrays: Sequence[Array], numbers: Sequence[bytes] = ()) -> tuple[Array, ...]:
        """New results, in the order in memory that the operands give them."""
        key = tuple([part for array in arrays for part in (array.shape, array.steps, array.offset)])
        found = self._known.get(key)
        if found is None:
            found = self._plan(key, arrays)
        shape, steps, launch, count = found
        take = self.device.pool.take
        results = tuple([Array(take(count * dtype.itemsize), dtype, shape, steps, 0) for dtype in self.dtypes])
        if launch is not None:
            launch([array.buffer for array in results] + [array.buffer for array in arrays], numbers)
        return results

    def _plan(self, key: Any, arrays: Sequence[Array]) -> Any:
        shape = broadcast(*[array.shape for array in arrays])
        spread = [broadcast_strides(array.shape, array.steps, shape) for array in arrays]
        steps = result_strides(shape, spread)
        launch = self._launch(shape, [steps] * len(self.dtypes), [0] * len(self.dtypes), arrays, spread)
        plan = (shape, steps, launch, math.prod(shape))
        if len(self._known) >= _LAYOUTS:
            self._known.clear()
        self._known[key] = plan
        return plan

    def _launch(self, shape: Any, steps: Any, offsets: Any, arrays: Sequence[Array], spread: Any) -> Launch | None:
        plan = elementwise_plan(
            self._lanes,
            description(self.device),
            shape,
            [*steps, *spread],
            [*offsets, *(array.offset for array in arrays)],
            len(self.dtypes),
        )
        return Launch(self.kernel(plan), plan.instances, plan.geometry) if plan.instances else None

    def into(self, outs: Sequence[Array], arrays: Sequence[Array], numbers: Sequence[bytes] = ()) -> None:
        """Write the results to *outs*, which have the results' shape; operands may overlap them."""
        shape = outs[0].shape
        for out, dtype in zip(outs, self.dtypes, strict=True):
            if _clashes(out, arrays) or out.dtype is not dtype or out.shape != shape:
                for target, result in zip(outs, self(arrays, numbers), strict=True):
                    copy(target, result)
                return
        key = tuple([part for array in (*outs, *arrays) for part in (array.shape, array.steps, array.offset)])
        found = self._known.get(key)
        if found is None:
            spread = [broadcast_strides(array.shape, array.steps, shape) for array in arrays]
            launch = self._launch(
                shape, [array.steps for array in outs], [array.offset for array in outs], arrays, spread
            )
            if len(self._known) >= _LAYOUTS:
                self._known.clear()
            found = self._known[key] = (launch,)
        if found[0] is not None:
            found[0]([array.buffer for array in outs] + [array.buffer for array in arrays], numbers)


class FusedNumbers:
    """A `Fused` that takes numbers as Python has them: what core asks for, a `polyad.backend.interface.FusedKernel`."""

    __slots__ = ("_packers", "_run")

    def __init__(self, run: Fused) -> None:
        self._run = run
        self._packers = [packer(scalar.dtype) for scalar in Leaves.of(run.expressions).scalars]

    def __call__(self, arrays: Sequence[Array], numbers: Sequence[Any] = ()) -> tuple[Array, ...]:
        return self._run(arrays, self._packed(numbers))

    def into(self, outs: Sequence[Array], arrays: Sequence[Array], numbers: Sequence[Any] = ()) -> None:
        self._run.into(outs, arrays, self._packed(numbers))

    def _packed(self, numbers: Sequence[Any]) -> list[bytes]:
        return [part for pack, number in zip(self._packers, numbers, strict=True) for part in pack(number)]


def _clashes(out: Array, arrays: Sequence[Array]) -> bool:
    """Whether writing *out* element by element could spoil an operand that is still to be read."""
    for array in arrays:
        if array.block is out.block and not (
            array.offset == out.offset
            and array.shape == out.shape
            and array.steps == out.steps
            and array.dtype is out.dtype
        ):
            return True
    return False


class Reduced:
    """A reduction of an expression of arrays on *device*: ``reduced(arrays, shape, dims, keepdim) -> array``.

    The result is row-major. Operands broadcast to *shape*; a `polyad.codegen.Place` has strides but no array: it is
    given as strides.
    """

    __slots__ = (
        "_compiled", "_known", "_lanes", "_second", "_unroll", "device", "dtype", "expression", "reducer", "what",
    )  # fmt: skip

    def __init__(self, device: Any, what: str, expression: Expression, reducer: str, dtype: DType) -> None:
        self.device = device
        self.what = what
        self.expression = expression
        self.reducer = reducer
        self.dtype = dtype
        self._lanes = lanes_for([expression, cast(expression, dtype)], OPENCL_C, description(device))
        self._unroll = unroll_for(expression)
        self._compiled: dict[Any, Compiled] = {}
        self._known: dict[Any, Any] = {}
        self._second: Reduced | None = None

    def __call__(
        self, arrays: Sequence[Any], dims: tuple[int, ...], keepdim: bool, numbers: Sequence[bytes] = ()
    ) -> Array:
        """The row-major result; *arrays* are arrays, or the strides of places."""
        key = (dims, keepdim, *[
            part
            for array in arrays
            for part in ((array.shape, array.steps, array.offset) if array.__class__ is Array else (array,))
        ])  # fmt: skip
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._plan(arrays, dims, keepdim)
            if len(self._known) > _LAYOUTS:
                self._known.clear()
        shape, count, launch, splits = found
        buffers = [array.buffer for array in arrays if array.__class__ is Array]
        if splits > 1:
            partial = new(self.device, (splits, *shape), self.expression.dtype)
            launch([partial.buffer, *buffers], numbers)
            return self._finish(partial)
        result = Array(
            self.device.pool.take(count * self.dtype.itemsize), self.dtype, shape, contiguous_strides(shape), 0
        )
        if launch is not None:
            launch([result.buffer, *buffers], numbers)
        elif count:
            fill(result, identity(self.reducer, self.expression.dtype))
        return result

    def _finish(self, partial: Array) -> Array:
        if self._second is None:
            self._second = Reduced(self.device, self.what, Operand(0, self.expression.dtype), self.reducer, self.dtype)
        return self._second((partial,), (0,), False)

    def _plan(self, arrays: Sequence[Any], dims: tuple[int, ...], keepdim: bool) -> Any:
        shape = broadcast(*[array.shape for array in arrays if array.__class__ is Array])
        kept = tuple([size for dim, size in enumerate(shape) if dim not in dims])
        result = tuple([1 if dim in dims else size for dim, size in enumerate(shape)]) if keepdim else kept
        count = math.prod(result)
        if 0 in shape:
            return result, count, None, 1
        plan = reduction_plan(
            self._lanes,
            description(self.device),
            shape,
            dims,
            [
                broadcast_strides(array.shape, array.steps, shape) if array.__class__ is Array else array
                for array in arrays
            ],
            [array.offset if array.__class__ is Array else 0 for array in arrays],
            result=contiguous_strides(kept),
            unroll=self._unroll,
        )
        return result, count, Launch(self._kernel(plan), plan.instances, plan.geometry), plan.splits

    def _kernel(self, plan: ReductionPlan) -> Compiled:
        dtype = self.expression.dtype if plan.splits > 1 else self.dtype
        key = (plan.across, plan.kept_rank, plan.reduced_rank, plan.inner, plan.unroll, dtype)
        found = self._compiled.get(key)
        if found is None:
            source = reduction(
                self.expression, self.reducer, OPENCL_C, description(self.device), result=dtype, across=plan.across,
                kept_rank=plan.kept_rank, reduced_rank=plan.reduced_rank, inner=plan.inner, unroll=plan.unroll,
            )  # fmt: skip
            found = self._compiled[key] = _compiled(self.device, source, self.what)
        return found
