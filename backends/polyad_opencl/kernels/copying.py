"""Copies between any two layouts and dtypes, and fills."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyopencl as cl

from polyad.backend import Kernel
from polyad.dtypes import DType
from polyad.interop.numpy import numpy_dtype

from ..array import Array, new

_TYPES = {
    "bool": "uchar", "uint8": "uchar", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "float16": "half", "bfloat16": "ushort", "float32": "float", "float64": "double", "complex64": "float2",
    "complex128": "double2",
}  # fmt: skip


def copy(target: Array, source: Array) -> None:
    """Write *source*, broadcast and cast, into *target*; they may overlap."""
    if not target.size:
        return
    shape = target.shape
    lacking = len(shape) - source.ndim
    steps = [0] * lacking + [0 if size == 1 else step for size, step in zip(source.shape, source.steps)]
    if target.block is source.block:
        dense = new(target.device, source.shape, source.dtype)
        _copy(dense, source, source.steps)
        source, steps = dense, [0] * lacking + [0 if n == 1 else s for n, s in zip(dense.shape, dense.steps)]
    _copy(target, source, steps)


def _copy(target: Array, source: Array, steps: Any) -> None:
    rank = target.ndim
    device = target.device
    if target.dtype is source.dtype and target.is_dense and tuple(steps) == target.steps:
        size = target.dtype.itemsize
        cl.enqueue_copy(
            device.queue, target.buffer, source.buffer,
            src_offset=source.offset * size, dst_offset=target.offset * size, byte_count=target.nbytes,
        )  # fmt: skip
        return
    launch = _kernel(device, target.dtype, source.dtype, rank)
    count = target.size
    launch((min(count, 64),), target.buffer, target.offset, source.buffer, source.offset, count,
           *target.shape, *target.steps, *steps)  # fmt: skip


@cache
def _kernel(device: Any, to: DType, of: DType, rank: int) -> Any:
    numbers = [f"{kind}{dim}" for kind in "nts" for dim in range(rank)]
    walk = "".join(
        f"{{ long c = rest % n{dim}; rest /= n{dim}; t += c * t{dim}; s += c * s{dim}; }}\n"
        for dim in reversed(range(rank))
    )
    value = _converted(to, of)
    source = f"""{_HALVES}
__kernel void copy_(__global {_TYPES[to.name]} *target, long to, __global const {_TYPES[of.name]} *source, long so,
                    long count{"".join(f", long {n}" for n in numbers)})
{{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {{
        long rest = i, t = to, s = so;
        {walk}
        {value}
    }}
}}
"""
    return device.kernel(source, "copy_", "pqpqq" + "q" * len(numbers), what=f"copy {of.name} to {to.name}")


_HALVES = """
float of_bfloat(ushort bits) { return as_float((uint)bits << 16); }
ushort to_bfloat(float x) {
    uint bits = as_uint(x);
    return x != x ? (ushort)0x7fc0 : (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
"""


def _converted(to: DType, of: DType) -> str:
    if to is of:
        if of.name == "float16":
            return "((__global ushort *)target)[t] = ((__global const ushort *)source)[s];"
        return "target[t] = source[s];"
    read = {"float16": "vload_half(s, source)", "bfloat16": "of_bfloat(source[s])"}.get(of.name, "source[s]")
    if to.is_complex:
        part = "float" if to.name == "complex64" else "double"
        real, imag = (f"{read}.x", f"{read}.y") if of.is_complex else (read, "0")
        return f"target[t] = ({_TYPES[to.name]})(({part}){real}, ({part}){imag});"
    if to.name == "bool":
        return f"target[t] = {read}.x != 0 || {read}.y != 0;" if of.is_complex else f"target[t] = {read} != 0;"
    if of.is_complex:
        read = f"{read}.x"
    if to.name == "float16":
        return f"vstore_half_rte((float){read}, t, target);"
    if to.name == "bfloat16":
        return f"target[t] = to_bfloat((float){read});"
    return f"target[t] = ({_TYPES[to.name]}){read};"


def fill(target: Array, value: bool | int | float | complex) -> None:
    """Write one number into every element of *target*."""
    if not target.size:
        return
    device, dtype = target.device, target.dtype
    import numpy as np

    with np.errstate(all="ignore"):
        pattern = np.array(value).astype(numpy_dtype(dtype)).reshape(1).view(np.uint8)
    if target.is_dense:
        cl.enqueue_fill_buffer(
            device.queue, target.buffer, pattern, target.offset * dtype.itemsize, target.nbytes
        )  # fmt: skip
        return
    one = new(device, (), dtype)
    cl.enqueue_fill_buffer(device.queue, one.buffer, pattern, 0, dtype.itemsize)
    _copy(target, one, (0,) * target.ndim)


def _cloned(x: Array) -> Array:
    made = new(x.device, x.shape, x.dtype)
    copy(made, x)
    return made


def _cast(x: Array, dtype: DType) -> Array:
    made = new(x.device, x.shape, dtype)
    copy(made, x)
    return made


KERNELS = {"copy": Kernel(_cloned), "cast": Kernel(_cast)}
