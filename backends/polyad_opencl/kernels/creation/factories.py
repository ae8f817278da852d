"""Sequences of three dtypes, by a kernel that core's generated one does not reach.

Of 2**20 elements on PoCL's CPU device: float32 180 us by hand and 515 us generated, int64 345 and 560, float64 350 and
480; compilers make vectors of a loop that only counts. Other dtypes are generated: int32 takes a third of the time that
a pass in int64 and a cast take.
"""

from __future__ import annotations

from typing import Any

from polyad.backend import Kernel
from polyad.base.device import Device
from polyad.base.dtypes import INTEGER, DType, float32, float64, int64
from polyad.codegen.kernels import generated_kernels
from polyad_kernels.array import Array, new
from polyad_kernels.kept import kept
from polyad_kernels.source.walking import cut, local_size

from ...runtime.device import opened
from ...source.generated import runtime_of

_generated = generated_kernels(runtime_of)["arange"].function


@kept
def _sequence(device: Any, dtype: DType) -> Any:
    """start + step * i, in int64, or in float64 and rounded once; where there is no float64, in float32."""
    number, letter = ("long", "q") if dtype is int64 else ("double", "d") if device.has_fp64 else ("float", "f")
    result = "float" if dtype is float32 else number
    source = f"""#pragma OPENCL FP_CONTRACT OFF
__kernel void sequence(__global {result} *restrict out, long count, long chunk, {number} first, {number} step)
{{
    for (long start = (long)get_global_id(0) * chunk; start < count; start += (long)get_global_size(0) * chunk) {{
        const long end = min(start + chunk, count);
        for (long i = start; i < end; ++i) {{
            const {number} distance = ({number})i * step;
            out[i] = ({result})(distance + first);
        }}
    }}
}}
"""
    return device.kernel(source, "sequence", "pqq" + 2 * letter, what=f"arange {dtype.name}", local=local_size(device))


def arange(start: Any, step: Any, count: int, dtype: DType, device: Device) -> Array:
    whole = dtype.category == INTEGER and isinstance(start, int) and isinstance(step, int)
    if dtype is not int64 if whole else dtype not in (float32, float64):
        return _generated(start, step, count, dtype, device)  # type: ignore[no-any-return]
    on = opened(device)
    out = new(on, (count,), dtype)
    if count:
        items, chunk = cut(on, count)
        first, each = (_wrapped(start), _wrapped(step)) if whole else (start, step)
        _sequence(on, dtype)(items, out.buffer, count, chunk, first, each)
    return out


def _wrapped(number: int) -> int:
    """The int64 that *number* is modulo 2**64."""
    return (number + 2**63) % 2**64 - 2**63


KERNELS = {"arange": Kernel(arange)}
