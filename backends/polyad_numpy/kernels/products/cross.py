"""Cross products."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet


@quiet
def cross(a: Any, b: Any, dim: int) -> Any:
    a, b = np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0)
    shape = np.broadcast_shapes(a.shape, b.shape)
    lead = shape[1:]
    # Laid out so that the result is row-major with its vectors along dim.
    out = np.empty((*lead[:dim], 3, *lead[dim:]), a.dtype)
    parts = np.moveaxis(out, dim, 0)
    scratch = np.empty(lead, a.dtype)
    for at, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        np.multiply(a[i], b[j], out=parts[at, ...])
        np.multiply(a[j], b[i], out=scratch)
        np.subtract(parts[at], scratch, out=parts[at, ...])
    return out


KERNELS = {
    "cross": Kernel(cross),
}
