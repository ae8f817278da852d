"""Reversing."""

from __future__ import annotations

from typing import Any

from polyad.backend import Kernel

from ...array import Array, new
from ...memo import memoize
from ...source.elements import MOVED
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters

_BLOCK = 16
"""Elements that are reversed in registers. Not by vload16: PoCL 3.0 hangs in compiling it where AVX-512 is lacking."""


@memoize
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


KERNELS = {"flip": Kernel(flip)}
