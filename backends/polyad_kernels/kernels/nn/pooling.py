"""Pooling over windows of one to three dimensions, read where they are: nothing is padded or unfolded.

Everything is written for three dimensions; those that are lacking have size 1. Half types are summed in float32.
"""

from __future__ import annotations

import math
from typing import Any

from polyad.backend import Kernel
from polyad.base.dtypes import DType, bfloat16, float16, float32, iinfo, int64

from ...array import Array, new
from ...kept import kept
from ...source.elements import text
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters

Sizes = tuple[int, ...]

_SETTINGS = ["sizes", "kernel", "stride", "padding", "spacing", "outs", "steps"]


def _settings() -> str:
    """The parameters that describe windows: three numbers each of `_SETTINGS`."""
    return ", ".join([f"long {name}{axis}" for name in _SETTINGS for axis in range(3)])


def _three(values: Sizes, missing: int) -> tuple[int, ...]:
    return (missing,) * (3 - len(values)) + tuple(values)


def _described(
    size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, spacing: Sizes, outs: Sizes, steps: Sizes
) -> tuple[int, ...]:
    numbers: list[int] = []
    for values, missing in zip((size, kernel, stride, padding, spacing, outs, steps), (1, 1, 1, 0, 1, 1, 0)):
        numbers += _three(values, missing)
    return tuple(numbers)


def _windows(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, spacing: Sizes, ceil_mode: bool) -> Sizes:
    """How many windows there are along each dimension."""
    counts = []
    for have, extent, step, amount, apart in zip(size, kernel, stride, padding, spacing, strict=True):
        free = have + 2 * amount - apart * (extent - 1) - 1
        count = -(-free // step) + 1 if ceil_mode else free // step + 1
        counts.append(count - 1 if ceil_mode and (count - 1) * step >= have + amount else count)
    return tuple(counts)


_NUMBER_SIGNS = "q" * 3 * len(_SETTINGS)

_BLOCK = 16
"""Neighbouring windows, wholly in the image, that a CPU device goes through side by side."""


def _window(axis: int) -> str:
    """Where the window w of a dimension begins, and which of its positions lie in the image: [low, high)."""
    return f"""
    const long begin{axis} = w{axis} * stride{axis} - padding{axis};
    const long low{axis} = begin{axis} < 0 ? (spacing{axis} - 1 - begin{axis}) / spacing{axis} : 0;
    const long high{axis} = begin{axis} + (kernel{axis} - 1) * spacing{axis} < sizes{axis} ? kernel{axis}
        : (sizes{axis} - begin{axis} + spacing{axis} - 1) / spacing{axis};"""


def _divisor(axis: int) -> str:
    """How many elements count along a dimension."""
    padded = f"min(begin{axis} + kernel{axis}, sizes{axis} + padding{axis}) - begin{axis}"
    return f"(with_padding ? {padded} : high{axis} - low{axis})"


# Whether a block of windows from the window just described on has all its positions in the image.
_INSIDE = "low2 == 0 && begin2 + (block - 1) * stride2 + (kernel2 - 1) * spacing2 < sizes2"

_TAPS = """
    for (long k0 = low0; k0 < high0; ++k0) for (long k1 = low1; k1 < high1; ++k1) {
        const long x0 = begin0 + k0 * spacing0, x1 = begin1 + k1 * spacing1;
        const long row = a + x0 * steps0 + x1 * steps1 + begin2 * steps2;
"""


def _lowest(dtype: DType) -> str:
    if dtype.is_floating_point:
        return "-INFINITY"
    return f"({iinfo(dtype).min + 1}{'L' if dtype is int64 else ''} - 1)" if iinfo(dtype).min else "0"


@kept
def _largest(device: Any, dtype: DType, rank: int) -> Any:
    nan = "|| value != value" if dtype.is_floating_point else ""
    source = f"""{text(dtype)}
__kernel void largest(__global T *restrict out, __global long *restrict places, __global const T *restrict input,
                      {_settings()}, {parameters(rank, "a")})
{{
    enum {{ block = {_BLOCK if device.is_cpu else 1} }};
    const long pitch = stride2 * steps2;
    {opening(rank, "a")}
    const long w0 = c{rank - 3}, w1 = c{rank - 2};
    {_window(0)} {_window(1)}
    for (long i = 0; i < run;) {{
        const long w2 = c{rank - 1} + i;
        {_window(2)}
        if (block > 1 && i + block <= run && {_INSIDE}) {{
            C best[block];
            long places_of[block];
            for (int j = 0; j < block; ++j) {{
                best[j] = {_lowest(dtype)};
                places_of[j] = ((begin0 + low0 * spacing0) * sizes1 + begin1 + low1 * spacing1) * sizes2;
            }}
            {_TAPS}
                for (long k2 = 0; k2 < kernel2; ++k2) {{
                    const long from = row + k2 * spacing2 * steps2, place = (x0 * sizes1 + x1) * sizes2 + k2 * spacing2;
                    for (int j = 0; j < block; ++j) {{
                        const C value = LOAD(input, from + j * pitch);
                        const bool better = value > best[j] {nan};
                        best[j] = better ? value : best[j];
                        places_of[j] = better ? place : places_of[j];
                    }}
                }}
            }}
            for (int j = 0; j < block; ++j) STORE(out, at + i + j, best[j]);
            for (int j = 0; j < block; ++j) places[at + i + j] = places_of[j] + begin2 + j * stride2;
            i += block;
            continue;
        }}
        C best = {_lowest(dtype)};
        long place = (begin0 + low0 * spacing0) * sizes1 + begin1 + low1 * spacing1;
        place = place * sizes2 + begin2 + low2 * spacing2;
        {_TAPS}
            TURNS for (long k2 = low2; k2 < high2; ++k2) {{
                const C value = LOAD(input, row + k2 * spacing2 * steps2);
                if (value > best {nan}) {{
                    best = value;
                    place = (x0 * sizes1 + x1) * sizes2 + begin2 + k2 * spacing2;
                }}
            }}
        }}
        STORE(out, at + i, best);
        places[at + i] = place;
        ++i;
    }}
    {closing(rank, "a")}
}}
"""
    signature = "ppp" + _NUMBER_SIGNS + letters(rank, "a")
    what = f"max_pool_with_indices {dtype.name}"
    return device.kernel(source, "largest", signature, what=what, local=local_size(device))


def max_pool_with_indices(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Array, Array]:
    device, size = x.device, x.shape[2:]
    outs = _windows(size, kernel, stride, padding, dilation, ceil_mode)
    shape = (*x.shape[:2], *outs)
    best, places = new(device, shape, x.dtype), new(device, shape, int64)
    if best.size:
        walk = Walk((*x.shape[:2], *_three(outs, 1)), (x.offset, (*x.steps[:2], 0, 0, 0)), apart=2)
        items, chunk = cut(device, walk.count, max(1, 4096 // math.prod(kernel)))
        _largest(device, x.dtype, walk.rank)(
            items, best.buffer, places.buffer, x.buffer,
            *_described(size, kernel, stride, padding, dilation, outs, x.steps[2:]), *walk.arguments(chunk),
        )  # fmt: skip
    return best, places


# ------------------------------------------------------------------------------------------------ averages


@kept
def _mean(device: Any, dtype: DType, rank: int) -> Any:
    source = f"""{text(dtype)}
__kernel void mean(__global T *restrict out, __global const T *restrict input, long given, int with_padding,
                   {_settings()}, {parameters(rank, "a")})
{{
    enum {{ block = {_BLOCK if device.is_cpu else 1} }};
    const long pitch = stride2 * steps2;
    {opening(rank, "a")}
    const long w0 = c{rank - 3}, w1 = c{rank - 2};
    {_window(0)} {_window(1)}
    const long rows = {_divisor(0)} * {_divisor(1)};
    for (long i = 0; i < run;) {{
        const long w2 = c{rank - 1} + i;
        {_window(2)}
        const C divisor = given ? given : max(rows * {_divisor(2)}, 1L);
        if (block > 1 && i + block <= run && {_INSIDE}) {{
            C sums[block];
            for (int j = 0; j < block; ++j) sums[j] = 0;
            {_TAPS}
                for (long k2 = 0; k2 < kernel2; ++k2) {{
                    const long from = row + k2 * steps2;
                    if (pitch == 1) for (int j = 0; j < block; ++j) sums[j] += LOAD(input, from + j);
                    else for (int j = 0; j < block; ++j) sums[j] += LOAD(input, from + j * pitch);
                }}
            }}
            for (int j = 0; j < block; ++j) STORE(out, at + i + j, sums[j] / divisor);
            i += block;
            continue;
        }}
        C sum = 0;
        {_TAPS}
            for (long k2 = low2; k2 < high2; ++k2) sum += LOAD(input, row + k2 * steps2);
        }}
        STORE(out, at + i, sum / divisor);
        ++i;
    }}
    {closing(rank, "a")}
}}
"""
    signature = "ppqi" + _NUMBER_SIGNS + letters(rank, "a")
    return device.kernel(source, "mean", signature, what=f"avg_pool {dtype.name}", local=local_size(device))


def avg_pool(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, include_pad: bool, divisor: int | None
) -> Array:
    device, size, ones = x.device, x.shape[2:], (1,) * len(kernel)
    outs = _windows(size, kernel, stride, padding, ones, ceil_mode)
    out = new(device, (*x.shape[:2], *outs), x.dtype)
    if out.size:
        walk = Walk((*x.shape[:2], *_three(outs, 1)), (x.offset, (*x.steps[:2], 0, 0, 0)), apart=2)
        items, chunk = cut(device, walk.count, max(1, 4096 // math.prod(kernel)))
        _mean(device, x.dtype, walk.rank)(
            items, out.buffer, x.buffer, divisor or 0, int(include_pad),
            *_described(size, kernel, stride, padding, ones, outs, x.steps[2:]), *walk.arguments(chunk),
        )  # fmt: skip
    return out


@kept
def _spread(device: Any, dtype: DType, rank: int) -> tuple[Any, Any]:
    """Kernels that divide what arrives, and in which each element of the image adds up what its windows send it."""
    reach = [
        f"""
        const long far{axis} = x{axis} + padding{axis};
        const long first{axis} = far{axis} < kernel{axis} ? 0 : ratio(far{axis} - kernel{axis}, stride{axis}) + 1;
        const long last{axis} = min(ratio(far{axis}, stride{axis}), outs{axis} - 1);"""
        for axis in range(3)
    ]
    source = f"""{text(dtype)}
inline long ratio(long a, long b)
{{
    return ((a | b) >> 31) == 0 ? (long)((uint)a / (uint)b) : a / b;
}}

__kernel void divide(__global C *restrict out, __global const T *restrict grad, long given, int with_padding,
                     {_settings()}, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    const long w0 = c{rank - 3}, w1 = c{rank - 2};
    {_window(0)} {_window(1)}
    const long rows = {_divisor(0)} * {_divisor(1)};
    for (long i = 0; i < run; ++i) {{
        const long w2 = c{rank - 1} + i;
        {_window(2)}
        const C divisor = given ? given : max(rows * {_divisor(2)}, 1L);
        out[at + i] = LOAD(grad, a + i * A) / divisor;
    }}
    {closing(rank, "a")}
}}

__kernel void spread(__global T *restrict out, __global const C *restrict shares, {_settings()},
                     {parameters(rank, "a")})
{{
    enum {{ block = {_BLOCK if device.is_cpu else 1} }};
    {opening(rank, "a")}
    const long x0 = c{rank - 3}, x1 = c{rank - 2};
    {reach[0]} {reach[1]}
    long x2 = c{rank - 1};
    {reach[2]}
    long first = first2, last = last2, far = far2;
    for (long i = 0; i < run;) {{
        if (block > 1 && stride2 == 1 && i + block <= run && far >= kernel2 - 1 && far + block <= outs2) {{
            C sums[block];
            for (int j = 0; j < block; ++j) sums[j] = 0;
            for (long w0 = first0; w0 <= last0; ++w0) for (long w1 = first1; w1 <= last1; ++w1) {{
                __global const C *row = shares + a + (w0 * outs1 + w1) * outs2 + far - kernel2 + 1;
                for (long k2 = 0; k2 < kernel2; ++k2) for (int j = 0; j < block; ++j) sums[j] += row[k2 + j];
            }}
            for (int j = 0; j < block; ++j) STORE(out, at + i + j, sums[j]);
            i += block;
            far += block;
            first = far - kernel2 + 1;
            last = min(far, outs2 - 1);
            continue;
        }}
        if (block > 1 && kernel2 == stride2 && i + block <= run && first + (block - 1) / stride2 + 2 <= outs2) {{
            // Each is in one window along the row.
            int window_of[block];
            long phase = far - first * stride2;
            for (int j = 0; j < block; ++j) {{
                window_of[j] = (int)(first - last);
                if (++phase == stride2) {{ phase = 0; ++first; }}
            }}
            C sums[block];
            for (int j = 0; j < block; ++j) sums[j] = 0;
            for (long w0 = first0; w0 <= last0; ++w0) for (long w1 = first1; w1 <= last1; ++w1) {{
                __global const C *row = shares + a + (w0 * outs1 + w1) * outs2 + last;
                for (int j = 0; j < block; ++j) sums[j] += row[window_of[j]];
            }}
            for (int j = 0; j < block; ++j) STORE(out, at + i + j, sums[j]);
            i += block;
            far += block;
            last = min(first, outs2 - 1);
            continue;
        }}
        C sum = 0;
        for (long w0 = first0; w0 <= last0; ++w0) for (long w1 = first1; w1 <= last1; ++w1) {{
            const long row = a + (w0 * outs1 + w1) * outs2;
            for (long w2 = first; w2 <= last; ++w2) sum += shares[row + w2];
        }}
        STORE(out, at + i, sum);
        ++i;
        ++far;
        if (first * stride2 + kernel2 <= far) ++first;
        if (last + 1 < outs2 && (last + 1) * stride2 <= far) ++last;
    }}
    {closing(rank, "a")}
}}
"""
    what, local, walk = f"avg_pool_backward {dtype.name}", local_size(device), letters(rank, "a")
    return (
        device.kernel(source, "divide", "ppqi" + _NUMBER_SIGNS + walk, what=what, local=local),
        device.kernel(source, "spread", "pp" + _NUMBER_SIGNS + walk, what=what, local=local),
    )


def avg_pool_backward(
    g: Array,
    size: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Array:
    device, ones, batch, outs = g.device, (1,) * len(kernel), g.shape[:2], g.shape[2:]
    out = new(device, (*batch, *size), g.dtype)
    if not out.size:
        return out
    settings = _described(tuple(size), kernel, stride, padding, ones, outs, g.steps[2:])
    shares = new(device, g.shape, float32 if g.dtype in (float16, bfloat16) else g.dtype)
    steps = (0,) * (3 - len(kernel)) + g.steps[2:]
    walk = Walk((*batch, *_three(outs, 1)), (g.offset, (*g.steps[:2], *steps)), apart=2)
    divide, spread = _spread(device, g.dtype, walk.rank)
    items, chunk = cut(device, walk.count)
    divide(items, shares.buffer, g.buffer, divisor or 0, int(include_pad), *settings, *walk.arguments(chunk))
    walk = Walk((*batch, *_three(tuple(size), 1)), (0, (*shares.steps[:2], 0, 0, 0)), apart=2)
    items, chunk = cut(device, walk.count, max(1, 4096 // math.prod(kernel)))
    spread(items, out.buffer, shares.buffer, *settings, *walk.arguments(chunk))
    return out


KERNELS = {
    "max_pool_with_indices": Kernel(max_pool_with_indices),
    "avg_pool": Kernel(avg_pool),
    "avg_pool_backward": Kernel(avg_pool_backward),
}
