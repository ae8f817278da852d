"""Elements sent to the same place, reduced."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet
from .gather_scatter import _leading, _positions
from .index_select import _accumulating, _check

_REDUCING = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _neutral(reduce: str, dtype: Any) -> Any:
    """What leaves the other operand of a reduction as it is."""
    if reduce in ("sum", "mean", "prod"):
        return dtype.type(reduce == "prod")
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduce == "amax" else np.inf)
    limits = np.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


@quiet
def scatter_reduce(array: Any, index: Any, source: Any, dim: int, reduce: str, include_self: bool) -> Any:
    _check("scatter_reduce", index, array.shape[dim])
    if not index.size:
        return array.copy(order="C")
    out = array.astype(_accumulating(array.dtype), order="C")
    flat = out.reshape(-1)
    places = _positions(array.shape, index, dim).reshape(-1)
    if not include_self:
        flat[places] = _neutral(reduce, out.dtype)
    _REDUCING[reduce].at(flat, places, _leading(source, index.shape).astype(out.dtype, copy=False).reshape(-1))
    if reduce == "mean":
        count = np.bincount(places, minlength=flat.size)
        count = np.maximum(count + include_self, 1)
        if out.dtype.kind in "iub":
            np.floor_divide(flat, count, out=flat, casting="unsafe")
        else:
            np.divide(flat, count.astype(flat.dtype.type(0).real.dtype), out=flat)
    return out.astype(array.dtype, copy=False)


KERNELS = {
    "scatter_reduce": Kernel(scatter_reduce),
}
