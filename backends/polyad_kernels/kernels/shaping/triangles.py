"""Triangles."""

from __future__ import annotations

from typing import Any

from polyad.backend import Kernel

from ...array import Array, new
from ...memo import memoize
from ...source.elements import MOVED
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters


@memoize
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


KERNELS = {"tril": Kernel(tril), "triu": Kernel(triu)}
