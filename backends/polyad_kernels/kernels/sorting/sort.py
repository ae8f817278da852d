"""Sorting: keys and places are paired, sorted by `pairs`, and bring the elements to their places."""

from __future__ import annotations

import math
from typing import Any

from polyad.backend import Kernel
from polyad.base.dtypes import DType, int64

from ...array import Array, new
from ...kept import kept
from ...source import keys, pairs
from ...source.elements import MOVED
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters


@kept
def _pair_up(device: Any, dtype: DType, rank: int) -> Any:
    source = f"""{keys.text(dtype)}{pairs.text(keys.key_size(dtype))}
__kernel void pair_up(__global PAIR *restrict out, __global const BITS *restrict input, ulong flips,
                      {parameters(rank, "a")})
{{
    const NUMBER flip = (NUMBER)flips;
    {opening(rank, "a")}
    for (long i = 0; i < run; ++i) {{
        const NUMBER key = order_key(input[a + i * A]) ^ flip;
        out[at + i] = MAKE(key, c{rank - 1} + i);
    }}
    {closing(rank, "a")}
}}
"""
    what = f"sort {dtype.name}"
    return device.kernel(source, "pair_up", "ppQ" + letters(rank, "a"), what=what, local=local_size(device))


@kept
def _bring(device: Any, width: int, key: int, rank: int) -> Any:
    element = MOVED[width]
    source = f"""{pairs.text(key)}
__kernel void bring(__global {element} *restrict values, __global long *restrict places,
                    __global const PAIR *restrict order, __global const {element} *restrict input, long step,
                    {parameters(rank, "pa")})
{{
    {opening(rank, "pa")}
    for (long i = 0; i < run; ++i) {{
        const long place = PLACE(order[p + i * P]);
        places[at + i] = place;
        values[at + i] = input[a + i * A + place * step];
    }}
    {closing(rank, "pa")}
}}
"""
    signature = "ppppq" + letters(rank, "pa")
    return device.kernel(source, "bring", signature, what="sort", local=local_size(device))


def _in_order(array: Array, dim: int, descending: bool) -> Array:
    """Pairs of *array*, which has elements, with *dim* moved to the end, sorted along it."""
    device, dtype = array.device, array.dtype
    others = [at for at in range(array.ndim) if at != dim]
    shape = (*[array.shape[at] for at in others], array.shape[dim])
    steps = (*[array.steps[at] for at in others], array.steps[dim])
    key = keys.key_size(dtype)
    order, spare = new(device, shape, pairs.dtype_of(key)), new(device, shape, pairs.dtype_of(key))
    walk = Walk(shape, (array.offset, steps), apart=len(others))
    items, chunk = cut(device, walk.count)
    flips = (1 << 8 * dtype.itemsize) - 1 if descending else 0
    _pair_up(device, dtype, walk.rank)(items, order.buffer, array.buffer, flips, *walk.arguments(chunk))
    return pairs.sort(order, spare, key, math.prod(shape[:-1]), shape[-1], dtype.itemsize)


def sort(array: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    device, shape = array.device, array.shape
    values, places = new(device, shape, array.dtype), new(device, shape, int64)
    if not values.size:
        return values, places
    if not shape:
        array, dim, shape = Array(array.block, array.dtype, (1,), (1,), array.offset), 0, (1,)
    order = _in_order(array, dim, descending)
    pair_steps = (*order.steps[:dim], order.steps[-1], *order.steps[dim:-1])
    steps = tuple([0 if at == dim else step for at, step in enumerate(array.steps)])
    walk = Walk(shape, (order.offset, pair_steps), (array.offset, steps))
    items, chunk = cut(device, walk.count)
    _bring(device, array.dtype.itemsize, keys.key_size(array.dtype), walk.rank)(
        items, values.buffer, places.buffer, order.buffer, array.buffer, array.steps[dim], *walk.arguments(chunk)
    )
    return values, places


KERNELS = {"sort": Kernel(sort)}
