"""Pooling over windows of one to three dimensions, read where they are: nothing is padded or unfolded.

Everything is written for three dimensions; those that are lacking have size 1. Sums of half types are made in float32.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from polyad.backend import Kernel
from polyad.dtypes import DType, iinfo, int64

from ..array import Array, new
from .elements import text
from .walking import Walk, closing, cut, letters, local_size, opening, parameters

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
    made = []
    for have, extent, step, amount, apart in zip(size, kernel, stride, padding, spacing, strict=True):
        free = have + 2 * amount - apart * (extent - 1) - 1
        count = -(-free // step) + 1 if ceil_mode else free // step + 1
        made.append(count - 1 if ceil_mode and (count - 1) * step >= have + amount else count)
    return tuple(made)


_NUMBER_SIGNS = "q" * 3 * len(_SETTINGS)

# The window of an output at (w0, w1, w2): where it begins, and which of its positions lie in the image.
_WINDOW = "".join(
    [
        f"""
    const long begin{axis} = w{axis} * stride{axis} - padding{axis};
    const long low{axis} = begin{axis} < 0 ? (-begin{axis} + spacing{axis} - 1) / spacing{axis} : 0;
    const long high{axis} = min(kernel{axis}, (sizes{axis} - begin{axis} + spacing{axis} - 1) / spacing{axis});"""
        for axis in range(3)
    ]
)


def _lowest(dtype: DType) -> str:
    if dtype.is_floating_point:
        return "-INFINITY"
    return f"({iinfo(dtype).min + 1}{'L' if dtype is int64 else ''} - 1)" if iinfo(dtype).min else "0"


@cache
def _largest(device: Any, dtype: DType, rank: int) -> Any:
    nan = "|| value != value" if dtype.is_floating_point else ""
    source = f"""{text(dtype)}
__kernel void largest(__global T *restrict out, __global long *restrict places, __global const T *restrict input,
                      {_settings()}, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    const long w0 = c{rank - 3}, w1 = c{rank - 2};
    for (long i = 0; i < run; ++i) {{
        const long w2 = c{rank - 1} + i;
        {_WINDOW}
        C best = {_lowest(dtype)};
        long place = (begin0 + low0 * spacing0) * sizes1 + begin1 + low1 * spacing1;
        place = place * sizes2 + begin2 + low2 * spacing2;
        for (long k0 = low0; k0 < high0; ++k0) for (long k1 = low1; k1 < high1; ++k1) {{
            const long x0 = begin0 + k0 * spacing0, x1 = begin1 + k1 * spacing1;
            const long row = a + x0 * steps0 + x1 * steps1;
            for (long k2 = low2; k2 < high2; ++k2) {{
                const long x2 = begin2 + k2 * spacing2;
                const C value = LOAD(input, row + x2 * steps2);
                if (value > best {nan}) {{
                    best = value;
                    place = (x0 * sizes1 + x1) * sizes2 + x2;
                }}
            }}
        }}
        STORE(out, at + i, best);
        places[at + i] = place;
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

# What the sum of a window is divided by.
_DIVISOR = """
    long divisor = given;
    if (given == 0) {
        if (with_padding) {
            divisor = (min(begin0 + kernel0, sizes0 + padding0) - begin0)
                    * (min(begin1 + kernel1, sizes1 + padding1) - begin1)
                    * (min(begin2 + kernel2, sizes2 + padding2) - begin2);
        } else {
            divisor = (high0 - low0) * (high1 - low1) * (high2 - low2);
        }
        divisor = max(divisor, 1L);
    }
"""


@cache
def _mean(device: Any, dtype: DType, rank: int) -> Any:
    source = f"""{text(dtype)}
__kernel void mean(__global T *restrict out, __global const T *restrict input, long given, int with_padding,
                   {_settings()}, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    const long w0 = c{rank - 3}, w1 = c{rank - 2};
    for (long i = 0; i < run; ++i) {{
        const long w2 = c{rank - 1} + i;
        {_WINDOW}
        {_DIVISOR}
        C sum = 0;
        for (long k0 = low0; k0 < high0; ++k0) for (long k1 = low1; k1 < high1; ++k1) {{
            const long row = a + (begin0 + k0) * steps0 + (begin1 + k1) * steps1 + begin2 * steps2;
            for (long k2 = low2; k2 < high2; ++k2) sum += LOAD(input, row + k2 * steps2);
        }}
        STORE(out, at + i, sum / (C)divisor);
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


@cache
def _spread(device: Any, dtype: DType, rank: int) -> Any:
    """Each element of the image adds up what the windows that it is in send it: nothing is written twice."""
    reach = "".join(
        [
            f"""
        const long far{axis} = x{axis} + padding{axis};
        const long first{axis} = far{axis} < kernel{axis} ? 0 : (far{axis} - kernel{axis}) / stride{axis} + 1;
        const long last{axis} = min(far{axis} / stride{axis}, outs{axis} - 1);"""
            for axis in range(3)
        ]
    )
    source = f"""{text(dtype)}
__kernel void spread(__global T *restrict out, __global const T *restrict grad, long given, int with_padding,
                     {_settings()}, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    const long x0 = c{rank - 3}, x1 = c{rank - 2};
    for (long i = 0; i < run; ++i) {{
        const long x2 = c{rank - 1} + i;
        {reach}
        C sum = 0;
        for (long w0 = first0; w0 <= last0; ++w0) for (long w1 = first1; w1 <= last1; ++w1)
            for (long w2 = first2; w2 <= last2; ++w2) {{
                {_WINDOW}
                {_DIVISOR}
                sum += LOAD(grad, a + w0 * steps0 + w1 * steps1 + w2 * steps2) / (C)divisor;
            }}
        STORE(out, at + i, sum);
    }}
    {closing(rank, "a")}
}}
"""
    signature = "ppqi" + _NUMBER_SIGNS + letters(rank, "a")
    return device.kernel(source, "spread", signature, what=f"avg_pool_backward {dtype.name}", local=local_size(device))


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
    device, ones = g.device, (1,) * len(kernel)
    out = new(device, (*g.shape[:2], *size), g.dtype)
    if out.size:
        walk = Walk((*g.shape[:2], *_three(tuple(size), 1)), (g.offset, (*g.steps[:2], 0, 0, 0)), apart=2)
        items, chunk = cut(device, walk.count, max(1, 2048 // math.prod(kernel)))
        _spread(device, g.dtype, walk.rank)(
            items, out.buffer, g.buffer, divisor or 0, int(include_pad),
            *_described(tuple(size), kernel, stride, padding, ones, g.shape[2:], g.steps[2:]), *walk.arguments(chunk),
        )  # fmt: skip
    return out


KERNELS = {
    "max_pool_with_indices": Kernel(max_pool_with_indices),
    "avg_pool": Kernel(avg_pool),
    "avg_pool_backward": Kernel(avg_pool_backward),
}
