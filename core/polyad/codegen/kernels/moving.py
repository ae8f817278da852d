"""Kernels that move elements: copies between any layouts and dtypes, numbers everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...backend.interface import Kernel, Signature
from ...backend.runtime import Runtime
from ...base.dtypes import FLOATING, INTEGER, DType, int8, int16, int32, int64
from ...base.shapes_and_strides import contiguous_strides
from ..expression import Operand, Scalar, cast
from .pointwise import PointwiseKernel, moving
from .pointwise_ops import RuntimeOf, unspecialized

_MOVED = {1: int8, 2: int16, 4: int32, 8: int64}
"""As what elements are moved that keep their dtype, so that every bit of a nan survives."""


def copying(runtime: Runtime, of: DType, to: DType) -> PointwiseKernel:
    """The kernel that casts elements of one dtype to another: ``copying(...).into((target,), (source,))``."""
    if of is to:
        return moving(runtime, of if of.is_complex else _MOVED[of.itemsize])
    what = f"copy from {of.name} to {to.name}"
    kernel: PointwiseKernel = runtime.once(
        ("copying", of, to), lambda: PointwiseKernel(runtime, what, [cast(Operand(0, of), to)])
    )
    return kernel


def fill(runtime: Runtime, target: Any, value: bool | int | float | complex, dtype: DType) -> None:
    """Write a number into every element of *target*, an array of *dtype*."""
    kernel: PointwiseKernel = runtime.once(
        ("filling", dtype), lambda: PointwiseKernel(runtime, f"fill {dtype.name}", [Scalar(0, dtype)])
    )
    if dtype.category < INTEGER:
        value = bool(value)
    elif dtype.category < FLOATING:
        value = int(value.real if isinstance(value, complex) else value)
    kernel.into((target,), (), (value,))


def moving_ops(runtime_of: RuntimeOf) -> dict[str, Kernel]:
    """The kernels of the primitives that copy, cast and join."""

    def row_major(types: Signature) -> Any:
        runtime, dtype = runtime_of(types[0].device), types[0].dtype

        def copy(x: Any) -> Any:
            copied = runtime.backend.empty(x.shape, dtype, runtime.device)
            runtime.backend.copy(copied, x)
            return copied

        return copy

    def converting(types: Signature) -> Any:
        runtime, own = runtime_of(types[0].device), types[0].dtype
        return lambda x, dtype: copying(runtime, own, dtype)((x,))[0]

    def joining(types: Signature) -> Any:
        runtime, dtype = runtime_of(types[0][0].device), types[0][0].dtype

        def cat(arrays: Sequence[Any], dim: int) -> Any:
            backend, shape = runtime.backend, list(arrays[0].shape)
            shape[dim] = sum(array.shape[dim] for array in arrays)
            out = backend.empty(tuple(shape), dtype, runtime.device)
            steps, root, begin = contiguous_strides(tuple(shape)), backend.root(out), 0
            for array in arrays:
                if 0 not in array.shape:
                    backend.copy(backend.as_strided(root, dtype, array.shape, steps, begin * steps[dim]), array)
                begin += array.shape[dim]
            return out

        return cat

    return {
        "cat": Kernel(unspecialized, specialize=joining),
        "copy": Kernel(unspecialized, specialize=row_major),
        "cast": Kernel(unspecialized, specialize=converting),
    }
