"""Joining, which is copies into parts of the result, reversing, triangles."""

from __future__ import annotations

from typing import Any

from polyad.backend import Kernel

from ...array import Array, new
from ...runtime.kept import kept
from ...source.elements import MOVED
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters
from ..memory.conversion import copy


def cat(arrays: list[Array], dim: int) -> Array:
    first = arrays[0]
    shape = list(first.shape)
    shape[dim] = sum([array.shape[dim] for array in arrays])
    out = new(first.device, tuple(shape), first.dtype)
    begin = 0
    for array in arrays:
        if array.size:
            copy(Array(out.block, out.dtype, array.shape, out.steps, begin), array)
        begin += array.shape[dim] * out.steps[dim]
    return out


_BLOCK = 16
"""Elements that are reversed in registers. Not by vload16: PoCL 3.0 hangs in compiling it where AVX-512 is lacking."""


@kept
def _reversal(device: Any, width: int, rank: int) -> Any:
    moved = MOVED[width]
    source = f"""
__kernel void reversal(__global {moved} *restrict out, __global const {moved} *restrict input, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    long i = 0;
    if (A == 1) for (; i < run; ++i) out[at + i] = input[a + i];
    else if (A == -1) for (; i + {_BLOCK} <= run; i += {_BLOCK}) {{
        for (int j = 0; j < {_BLOCK}; ++j) out[at + i + j] = input[a - i - j];
    }}
    for (; i < run; ++i) out[at + i] = input[a + i * A];
    {closing(rank, "a")}
}}
"""
    return device.kernel(source, "reversal", "pp" + letters(rank, "a"), what="flip", local=local_size(device))


def flip(array: Array, dims: tuple[int, ...]) -> Array:
    device = array.device
    out = new(device, array.shape, array.dtype)
    if array.size:
        steps = tuple([-step if dim in dims else step for dim, step in enumerate(array.steps)])
        last = sum([(array.shape[dim] - 1) * array.steps[dim] for dim in set(dims)])
        walk = Walk(array.shape, (array.offset + last, steps))
        items, chunk = cut(device, walk.count)
        _reversal(device, array.dtype.itemsize, walk.rank)(items, out.buffer, array.buffer, *walk.arguments(chunk))
    return out


@kept
def _triangle(device: Any, width: int, rank: int) -> Any:
    moved = MOVED[width]
    source = f"""
__kernel void triangle(__global {moved} *restrict out, __global const {moved} *restrict input, long diagonal, int upper,
                       {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    // The column, counted from the run's first element, that is the first beyond the diagonal.
    const long turn = clamp(c{rank - 2} + diagonal + 1 - c{rank - 1} - upper, 0L, run);
    const long from = upper ? turn : 0, to = upper ? run : turn;
    for (long i = 0; i < from; ++i) out[at + i] = 0;
    if (A == 1) for (long i = from; i < to; ++i) out[at + i] = input[a + i];
    else for (long i = from; i < to; ++i) out[at + i] = input[a + i * A];
    for (long i = to; i < run; ++i) out[at + i] = 0;
    {closing(rank, "a")}
}}
"""
    return device.kernel(source, "triangle", "ppqi" + letters(rank, "a"), what="tril, triu", local=local_size(device))


def _part(array: Array, diagonal: int, upper: bool) -> Array:
    device = array.device
    out = new(device, array.shape, array.dtype)
    if array.size:
        walk = Walk(array.shape, (array.offset, array.steps), apart=array.ndim - 2)
        items, chunk = cut(device, walk.count)
        reach = sum(array.shape[-2:])
        _triangle(device, array.dtype.itemsize, walk.rank)(
            items, out.buffer, array.buffer, max(-reach, min(diagonal, reach)), int(upper), *walk.arguments(chunk)
        )
    return out


def tril(array: Array, diagonal: int) -> Array:
    return _part(array, diagonal, False)


def triu(array: Array, diagonal: int) -> Array:
    return _part(array, diagonal, True)


KERNELS = {"cat": Kernel(cat), "flip": Kernel(flip), "tril": Kernel(tril), "triu": Kernel(triu)}
