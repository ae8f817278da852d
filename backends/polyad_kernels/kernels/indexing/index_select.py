"""Reading at indices that arrays hold, and the places of what is not zero. `scattering` has the writing.

Indices are in [0, size): core has counted negative ones from the end where the op allows them. A wrong index is noted
in the device's trouble cell and touches no memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.bounds import out_of_range
from polyad.base.dtypes import int64
from polyad.base.shapes_and_strides import coordinates

from ...array import Array, new
from ...memo import memoize
from ...source.elements import MOVED
from ...source.walking import CHECKED, Walk, closing, cut, letters, local_size, opening, parameters
from . import gather_scatter as scattering

_BLOCK = 256
"""Elements that are looked at at once."""


@memoize
def _take(device: Any, width: int, rank: int) -> Any:
    element = MOVED[width]
    source = f"""{CHECKED}
__kernel void take(__global {element} *restrict out, __global const {element} *restrict input,
                   __global const long *restrict index, long step, ulong size, __global long *cell, int number,
                   {parameters(rank, "ax")})
{{
    {opening(rank, "ax")}
    if (X == 0) {{
        const long chosen = index[x];
        if ((ulong)chosen < size) {{
            __global const {element} *from = input + a + chosen * step;
            if (A == 1) for (long i = 0; i < run; ++i) out[at + i] = from[i];
            else for (long i = 0; i < run; ++i) out[at + i] = from[i * A];
        }} else tell(cell, number, at, chosen);
    }} else {{
        // A block is checked first, and then moved without a branch an element.
        for (long first = 0; first < run; first += {_BLOCK}) {{
            const long end_of = min(first + {_BLOCK}, run);
            bool good = true;
            if (X == 1) for (long i = first; i < end_of; ++i) good &= (ulong)index[x + i] < size;
            else for (long i = first; i < end_of; ++i) good &= (ulong)index[x + i * X] < size;
            if (good && X == 1)
                for (long i = first; i < end_of; ++i) out[at + i] = input[a + i * A + index[x + i] * step];
            else for (long i = first; i < end_of; ++i) {{
                const long chosen = index[x + i * X];
                if ((ulong)chosen < size) out[at + i] = input[a + i * A + chosen * step];
                else tell(cell, number, at + i, chosen);
            }}
        }}
    }}
    {closing(rank, "ax")}
}}
"""
    signature = "pppqQpi" + letters(rank, "ax")
    return device.kernel(source, "take", signature, what="gather, index_select", local=local_size(device))


def _taken(
    array: Array,
    index: Array,
    dim: int,
    shape: tuple[int, ...],
    others: tuple[int, ...],
    index_steps: tuple[int, ...],
    judge: Any,
) -> Array:
    """``array[.., index, ..]`` in *shape*: *others* finds an element's place but for *dim*, *index_steps* its index."""
    device = array.device
    out = new(device, shape, array.dtype)
    if not out.size:
        return out
    walk = Walk(shape, (array.offset, others), (index.offset, index_steps))
    items, chunk = cut(device, walk.count)
    _take(device, array.dtype.itemsize, walk.rank)(
        items, out.buffer, array.buffer, index.buffer, array.steps[dim], array.shape[dim],
        device.trouble_cell, device.expect(judge), *walk.arguments(chunk),
    )  # fmt: skip
    device.verify()
    return out


def _others(array: Array, dim: int) -> tuple[int, ...]:
    return tuple([0 if at == dim else step for at, step in enumerate(array.steps)])


def index_select(array: Array, index: Array, dim: int) -> Array:
    shape = (*array.shape[:dim], index.shape[0], *array.shape[dim + 1 :])
    steps = tuple([index.steps[0] if at == dim else 0 for at in range(len(shape))])
    size = array.shape[dim]

    def judge(position: int, value: int) -> Exception:
        return out_of_range("index_select", "index", (coordinates(position, shape)[dim],), value, size)

    return _taken(array, index, dim, shape, _others(array, dim), steps, judge)


def embedding(weight: Array, index: Array, padding_idx: int, by_frequency: bool) -> Array:
    shape, size = (*index.shape, *weight.shape[1:]), weight.shape[0]
    others, rank = (*[0] * index.ndim, *weight.steps[1:]), index.ndim

    def judge(position: int, value: int) -> Exception:
        return out_of_range("embedding", "input", coordinates(position, shape)[:rank], value, size)

    return _taken(weight, index, 0, shape, others, (*index.steps, *[0] * (len(weight.shape) - 1)), judge)


def gather(array: Array, index: Array, dim: int) -> Array:
    shape, size = index.shape, array.shape[dim]

    def judge(position: int, value: int) -> Exception:
        return out_of_range("gather", "index", coordinates(position, shape), value, size)

    return _taken(array, index, dim, shape, _others(array, dim), index.steps, judge)


# ------------------------------------------------------------------------------------------------ nonzero


@memoize
def _places(device: Any, width: int, rank: int, dims: int) -> tuple[Any, Any]:
    """Kernels that count what is not zero in each stretch, and that write the coordinates of all of it."""
    element = MOVED[width]
    test = "((value.x | value.y) != 0)" if width == 16 else "(value != 0)"
    first = rank - dims
    row = "".join([f"line[{dim - first}] = c{dim}{' + i' if dim == rank - 1 else ''};" for dim in range(first, rank)])
    shared = f"__global const {element} *restrict input, ulong bits, {parameters(rank, 'a')}"
    source = f"""
__kernel void count(__global long *restrict counts, {shared})
{{
    const {element} mask = ({element})bits;
    {opening(rank, "a")}
    long found = at == start ? 0 : counts[start / chunk];
    for (long first = 0; first < run; first += 1 << 30) {{
        const int some = (int)min(run - first, 1L << 30);
        int here = 0;
        if (A == 1) {{
            __global const {element} *from = input + a + first;
            for (int i = 0; i < some; ++i) {{ const {element} value = from[i] & mask; here += {test}; }}
        }} else for (int i = 0; i < some; ++i) {{
            const {element} value = input[a + (first + i) * A] & mask;
            here += {test};
        }}
        found += here;
    }}
    counts[start / chunk] = found;
    {closing(rank, "a")}
}}

__kernel void write(__global long *restrict out, __global long *restrict begins, __global const long *restrict ends,
                    {shared})
{{
    const {element} mask = ({element})bits;
    {opening(rank, "a")}
    __global long *line = out + begins[start / chunk] * {dims};
    __global const long *none = out + ends[start / chunk] * {dims};
    // Written always, and kept if it counts: a branch an element would be guessed wrongly half of the time.
    for (long i = 0; i < run && line != none; ++i) {{
        const {element} value = input[a + i * A] & mask;
        {row}
        line += {test} ? {dims} : 0;
    }}
    begins[start / chunk] = (line - out) / {max(dims, 1)};
    {closing(rank, "a")}
}}
"""
    signature = "pQ" + letters(rank, "a")
    local = local_size(device)
    return (
        device.kernel(source, "count", "p" + signature, what="nonzero", local=local),
        device.kernel(source, "write", "ppp" + signature, what="nonzero", local=local),
    )


def _mask(array: Array) -> int:
    """The bits of an element (of each half of a complex128) that are not all 0 if it is not zero: no signs of zeros."""
    dtype = array.dtype
    if dtype.is_complex:
        return 0x7FFFFFFF_7FFFFFFF if dtype.itemsize == 8 else 0x7FFFFFFF_FFFFFFFF
    bits = 8 * dtype.itemsize
    return (1 << bits - 1) - 1 if dtype.is_floating_point else (1 << bits) - 1


def nonzero(array: Array) -> Array:
    device = array.device
    dims = array.ndim
    if not array.size:
        return new(device, (0, dims), int64)
    walk = Walk(array.shape, (array.offset, array.steps), apart=0 if dims > 1 else None)
    items, chunk = cut(device, walk.count)
    if not device.is_cpu:
        chunk = max(-(-walk.count // items[0]), 256)  # each needs a number of its own
    stretches = -(-walk.count // chunk)
    begins, ends = new(device, (stretches,), int64), new(device, (stretches,), int64)
    count, write = _places(device, array.dtype.itemsize, walk.rank, dims)
    operands = (array.buffer, _mask(array), *walk.arguments(chunk))
    count(items, begins.buffer, *operands)
    counts = np.empty(stretches, np.int64)
    device.read(counts.view(np.uint8), begins.buffer, 0)
    sums = np.cumsum(counts)
    out = new(device, (int(sums[-1]), dims), int64)
    if out.size:
        device.write(ends.buffer, sums.view(np.uint8))
        device.write(begins.buffer, (sums - counts).view(np.uint8))
        write(items, out.buffer, begins.buffer, ends.buffer, *operands)
    return out


@memoize
def _counting(device: Any, rank: int) -> Any:
    source = f"""{CHECKED}
__kernel void counted(__global long *restrict out, __global const long *restrict index, long size, long outside,
                      __global long *cell, int number, {parameters(rank, "x")})
{{
    {opening(rank, "x")}
    for (long i = 0; i < run; ++i) {{
        const long given = index[x + i * X], chosen = given < 0 ? given + size : given;
        const bool good = (ulong)chosen < (ulong)size;
        if (!good) tell(cell, number, at + i, given);
        out[at + i] = good ? chosen : outside;
    }}
    {closing(rank, "x")}
}}
"""
    signature = "ppqqpi" + letters(rank, "x")
    return device.kernel(source, "counted", signature, what="index", local=local_size(device))


def counted_index(index: Array, size: int, outside: int, number: int, dim: int) -> Array:
    """*index* with negative values counted from the front; *outside* where it is wrong, which is told later."""
    device, shape = index.device, index.shape
    out = new(device, shape, int64)
    if not out.size:
        return out

    def judge(position: int, value: int) -> Exception:
        where = coordinates(position, shape)
        return out_of_range("index", f"indices[{number}]", where, value, size, wraps=True, dim=dim)

    walk = Walk(shape, (index.offset, index.steps))
    items, chunk = cut(device, walk.count)
    _counting(device, walk.rank)(
        items, out.buffer, index.buffer, size, outside, device.trouble_cell, device.expect(judge),
        *walk.arguments(chunk),
    )  # fmt: skip
    device.verify()
    return out


KERNELS = {
    "counted_index": Kernel(counted_index, dtypes=frozenset({int64})),
    "embedding": Kernel(embedding),
    "index_select": Kernel(index_select),
    "gather": Kernel(gather),
    "nonzero": Kernel(nonzero),
    **scattering.KERNELS,
}
