"""Philox on the device, by the contract in `polyad.random.philox`: the bits are the CPU's."""

from __future__ import annotations

import math
from typing import Any

from polyad.backend import Kernel
from polyad.device import Device
from polyad.dtypes import int64
from polyad.random.philox import KEY_STEPS, MULTIPLIERS, ROUNDS

from ...array import Array, new
from ...runtime.device import opened
from ...runtime.kept import kept
from ...source.walking import cut, local_size


@kept
def _words(device: Any) -> Any:
    """A kernel of int64 words. Every number is below 2**32, in 64 bits that hold its product with a multiplier; CPU
    devices compute eight blocks side by side.
    """
    wide = 8 if device.is_cpu else 1
    word = "ulong8" if wide > 1 else "ulong"
    numbers = "(ulong8)(0, 1, 2, 3, 4, 5, 6, 7)" if wide > 1 else "0"
    rows = ", ".join(["a", "b", "c", "d"])
    if wide > 1:
        write = "".join([f"vstore4((ulong4)({', '.join(f'{w}.s{i}' for w in 'abcd')}), {i}, to);" for i in range(wide)])
        rest = "".join([f"left[{4 * i + j}] = {w}.s{i};" for i in range(wide) for j, w in enumerate("abcd")])
    else:
        write = f"vstore4((ulong4)({rows}), 0, to);"
        rest = "".join([f"left[{j}] = {w};" for j, w in enumerate("abcd")])
    source = f"""
__kernel void words(__global ulong *restrict out, long count, long chunk, ulong first_key, ulong second_key,
                    ulong offset)
{{
    for (long start = (long)get_global_id(0) * chunk; start * {4 * wide} < count;
         start += (long)get_global_size(0) * chunk) {{
        for (long turn = start; turn < start + chunk && turn * {4 * wide} < count; ++turn) {{
            const {word} block = ({word})(offset + turn * {wide}) + {numbers};
            {word} a = block & 0xffffffffUL, b = block >> 32, c = 0, d = 0;
            ulong first = first_key, second = second_key;
            for (int round = 0; round < {ROUNDS}; ++round) {{
                const {word} low = a * {MULTIPLIERS[0]}UL, high = c * {MULTIPLIERS[1]}UL;
                a = (high >> 32) ^ b ^ first;
                b = high & 0xffffffffUL;
                c = (low >> 32) ^ d ^ second;
                d = low & 0xffffffffUL;
                first = (first + {KEY_STEPS[0]}UL) & 0xffffffffUL;
                second = (second + {KEY_STEPS[1]}UL) & 0xffffffffUL;
            }}
            __global ulong *to = out + turn * {4 * wide};
            if ((turn + 1) * {4 * wide} <= count) {{ {write} }}
            else {{
                ulong left[{4 * wide}];
                {rest}
                for (long i = 0; i < count - turn * {4 * wide}; ++i) to[i] = left[i];
            }}
        }}
    }}
}}
"""
    return device.kernel(source, "words", "pqqQQQ", what="philox_bits", local=local_size(device))


def philox_bits(shape: tuple[int, ...], seed: int, offset: int, device: Device) -> Array:
    on = opened(device)
    out = new(on, shape, int64)
    count = math.prod(shape)
    if count:
        turns = -(-count // (32 if on.is_cpu else 4))
        items, chunk = cut(on, turns, 64)
        _words(on)(items, out.buffer, count, chunk, seed & 0xFFFFFFFF, seed >> 32, offset)
    return out


KERNELS = {"philox_bits": Kernel(philox_bits)}
