"""Searching sorted sequences, by halving."""

from __future__ import annotations

from typing import Any

from polyad.backend import Kernel
from polyad.base.dtypes import DType, int64

from ...array import Array, new
from ...kept import kept
from ...source import keys
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters


@kept
def _search(device: Any, dtype: DType, rank: int) -> Any:
    source = f"""{keys.text(dtype)}
__kernel void search(__global long *restrict out, __global const BITS *restrict sequence,
                     __global const BITS *restrict values, long length, long step, int right,
                     {parameters(rank, "qv")})
{{
    {opening(rank, "qv")}
    for (long i = 0; i < run; ++i) {{
        const NUMBER wanted = order_key(values[v + i * V]);
        __global const BITS *from = sequence + q + i * Q;
        long first = 0, left = length;
        while (left > 0) {{
            const long half_way = left / 2;
            const NUMBER there = order_key(from[(first + half_way) * step]);
            const bool beyond = right ? there <= wanted : there < wanted;
            first = beyond ? first + half_way + 1 : first;
            left = beyond ? left - half_way - 1 : half_way;
        }}
        out[at + i] = first;
    }}
    {closing(rank, "qv")}
}}
"""
    what = f"searchsorted {dtype.name}"
    return device.kernel(source, "search", "pppqqi" + letters(rank, "qv"), what=what, local=local_size(device))


def searchsorted(sequence: Array, values: Array, right: bool) -> Array:
    device = values.device
    out = new(device, values.shape, int64)
    if not out.size:
        return out
    rows = (0,) * values.ndim if sequence.ndim == 1 else (*sequence.steps[:-1], 0)
    walk = Walk(values.shape, (sequence.offset, rows), (values.offset, values.steps))
    items, chunk = cut(device, walk.count, 256)
    _search(device, values.dtype, walk.rank)(
        items, out.buffer, sequence.buffer, values.buffer, sequence.shape[-1], sequence.steps[-1], int(right),
        *walk.arguments(chunk),
    )  # fmt: skip
    return out


KERNELS = {"searchsorted": Kernel(searchsorted)}
