"""Running sums and products. Half types accumulate in float32, integers in int64.

Lines are summed in order, one work-item a line or a block of neighbouring columns, and so are rounded as they are on
the CPU. Devices that need more work-items than that cut a sum into parts: they sum each, and begin each with the sums
of those before it.
"""

from __future__ import annotations

import math
from typing import Any

from polyad.backend import Kernel
from polyad.base.dtypes import DType, bfloat16, float16, float32, int64

from ...array import Array, new
from ...kept import kept
from ...source.elements import STORED, text
from ...source.walking import Walk, closing, cut, letters, local_size, opening, parameters

_BLOCK = 32
"""Columns that a work-item of a CPU device goes down at once."""

_PRODUCT = {
    "complex64": "NEW(float2)(sum.x * x.x - sum.y * x.y, sum.x * x.y + sum.y * x.x)",
    "complex128": "NEW(double2)(sum.x * x.x - sum.y * x.y, sum.x * x.y + sum.y * x.x)",
}


def _formulas(name: str, dtype: DType) -> tuple[str, str]:
    """What to begin with, and the step from ``sum`` by ``x``."""
    if name == "cumsum":
        return "0", "sum + x"
    return ("NEW(A_TYPE)(1, 0)" if dtype.is_complex else "1"), _PRODUCT.get(dtype.name, "sum * x")


@kept
def _run(device: Any, name: str, dtype: DType, rank: int) -> tuple[Any, Any]:
    """Kernels that go along lines from what `sums` says, and that only sum up parts of lines."""
    first, step = _formulas(name, dtype)
    if dtype.is_floating_point or dtype.is_complex:
        loaded, stored = text(dtype), "STORE(out, {}, sum)"
        sum_type = "C"
    else:
        loaded = f"#define T {STORED[dtype.name]}\n#define LOAD(p, i) ((long)(p)[i])\n"
        stored, sum_type = "out[{}] = sum", "long"
    result = "long" if sum_type == "long" else "T"
    block = _BLOCK if device.is_cpu else 1
    source = f"""#pragma OPENCL FP_CONTRACT OFF
{loaded}
#define A_TYPE {sum_type}
__kernel void go(__global {result} *restrict out, __global const T *restrict input,
                 __global const A_TYPE *restrict sums, long length, long part, long parts, long step, long out_step,
                 {parameters(rank, "oa")})
{{
    {opening(rank, "oa")}
    for (long i = 0; i < run; ++i) {{
        if (parts == 1 && i + {block} <= run && {block} > 1) {{
            // A block of columns.
            A_TYPE all[{block}];
            for (int j = 0; j < {block}; ++j) all[j] = {first};
            for (long k = 0; k < length; ++k) {{
                const long from = a + i * A + k * step, to = o + i * O + k * out_step;
                if (A == 1 && O == 1) for (int j = 0; j < {block}; ++j) {{
                    const A_TYPE x = LOAD(input, from + j), before = all[j];
                    const A_TYPE sum = {step.replace("sum", "before")};
                    all[j] = sum;
                    {stored.format("to + j")};
                }} else for (int j = 0; j < {block}; ++j) {{
                    const A_TYPE x = LOAD(input, from + j * A), before = all[j];
                    const A_TYPE sum = {step.replace("sum", "before")};
                    all[j] = sum;
                    {stored.format("to + j * O")};
                }}
            }}
            i += {block} - 1;
            continue;
        }}
        const long line = (at + i) / parts, mine = (at + i) % parts;
        A_TYPE sum = {first};
        for (long other = 0; other < mine; ++other) {{
            const A_TYPE x = sums[line * parts + other];
            sum = {step};
        }}
        const long end = min((mine + 1) * part, length);
        for (long k = mine * part; k < end; ++k) {{
            const A_TYPE x = LOAD(input, a + i * A + k * step);
            sum = {step};
            {stored.format("o + i * O + k * out_step")};
        }}
    }}
    {closing(rank, "oa")}
}}

__kernel void sum_parts(__global A_TYPE *restrict sums, __global const T *restrict input, long length, long part,
                        long parts, long step, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    for (long i = 0; i < run; ++i) {{
        const long mine = (at + i) % parts, end = min((mine + 1) * part, length);
        A_TYPE sum = {first};
        for (long k = mine * part; k < end; ++k) {{
            const A_TYPE x = LOAD(input, a + i * A + k * step);
            sum = {step};
        }}
        sums[at + i] = sum;
    }}
    {closing(rank, "a")}
}}
"""
    what, local = f"{name} {dtype.name}", local_size(device)
    return (
        device.kernel(source, "go", "pppqqqqq" + letters(rank, "oa"), what=what, local=local),
        device.kernel(source, "sum_parts", "ppqqqq" + letters(rank, "a"), what=what, local=local),
    )


def _running(name: str) -> Kernel:
    def kernel(array: Array, dim: int) -> Array:
        device, dtype = array.device, array.dtype
        exact = not (dtype.is_floating_point or dtype.is_complex)
        out = new(device, array.shape, int64 if exact else dtype)
        if not out.size:
            return out
        if not array.ndim:
            array = Array(array.block, dtype, (1,), (1,), array.offset)
            dim = 0
        others = [at for at in range(array.ndim) if at != dim]
        shape = tuple([array.shape[at] for at in others])
        length, lines = array.shape[dim], math.prod(shape)
        parts = 1
        # Products of parts may overflow where the product does not, and infinity times 0 is nan.
        if not device.is_cpu and (name == "cumsum" or exact):
            parts = max(1, min(64 * device.compute_units // lines, length // 64))
        part = -(-length // parts)
        steps = (array.offset, (*[array.steps[at] for at in others], 0))
        outer = new(device, array.shape, dtype).steps if not out.ndim else out.steps
        to = (0, (*[outer[at] for at in others], 0))
        walk = Walk((*shape, parts), to, steps)
        block = _BLOCK if length > 1 and lines >= _BLOCK and device.is_cpu else 1
        items, chunk = cut(device, walk.count, max(block, 4096 // length))
        go, _ = _run(device, name, dtype, walk.rank)
        sums = array
        if parts > 1:
            sums = new(device, (lines * parts,), float32 if dtype in (float16, bfloat16) else out.dtype)
            brief = Walk((*shape, parts), steps)
            _, add_up = _run(device, name, dtype, brief.rank)
            add_up(items, sums.buffer, array.buffer, length, part, parts, array.steps[dim], *brief.arguments(chunk))
        go(
            items, out.buffer, array.buffer, sums.buffer, length, part, parts, array.steps[dim], outer[dim],
            *walk.arguments(chunk),
        )  # fmt: skip
        return out

    return Kernel(kernel)


KERNELS = {"cumsum": _running("cumsum"), "cumprod": _running("cumprod")}
