"""Matrix factorizations, and the permutation that pivots tell."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.dtypes import DType, int64
from polyad.errors import IndexOutOfRange

from ...array import Array, new
from ..elements import STORED
from ..walking import CHECKED, Walk, closing, cut, letters, local_size, opening, parameters


@cache
def _permutation(device: Any, dtype: DType, rank: int) -> Any:
    source = f"""{CHECKED}
__kernel void permutation(__global long *restrict out, __global const {STORED[dtype.name]} *restrict pivots, long rows,
                          long length, long step, __global long *cell, int number, {parameters(rank, "a")})
{{
    {opening(rank, "a")}
    for (long i = 0; i < run; ++i) {{
        __global long *order = out + (at + i) * rows;
        for (long row = 0; row < rows; ++row) order[row] = row;
        for (long k = 0; k < length; ++k) {{
            const long pivot = pivots[a + i * A + k * step];
            if (pivot < 1 || pivot > rows) {{ tell(cell, number, (at + i) * length + k, pivot); break; }}
            const long moved = order[k];
            order[k] = order[pivot - 1];
            order[pivot - 1] = moved;
        }}
    }}
    {closing(rank, "a")}
}}
"""
    signature = "ppqqqpi" + letters(rank, "a")
    return device.kernel(source, "permutation", signature, what="lu_permutation", local=local_size(device))


def lu_permutation(pivots: Array, rows: int) -> Array:
    device, batch = pivots.device, pivots.shape[:-1]
    out = new(device, (*batch, rows), int64)
    if not out.size:
        return out
    shape = pivots.shape

    def judge(position: int, value: int) -> IndexOutOfRange:
        place = [int(at) for at in np.unravel_index(position, shape)]
        return IndexOutOfRange(f"pivots{place} = {value} is not in [1, {rows}]", fix="pass what lu_factor gave")

    walk = Walk(batch, (pivots.offset, pivots.steps[:-1]))
    items, chunk = cut(device, walk.count, max(1, 1024 // rows))
    _permutation(device, pivots.dtype, walk.rank)(
        items, out.buffer, pivots.buffer, rows, shape[-1], pivots.steps[-1], device.trouble_cell,
        device.expect(judge), *walk.arguments(chunk),
    )  # fmt: skip
    device.verify()
    return out


KERNELS = {"lu_permutation": Kernel(lu_permutation)}
