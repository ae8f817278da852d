"""Distances of all pairs of rows.

SciPy's loops in float64 for the usual norms; else some rows against all others at a time, so that no array holds the
differences of all pairs. SciPy is imported by the first call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature

from ...quiet import quiet
from ..products.mm import is_half

METRICS = {2.0: "euclidean", 1.0: "cityblock"}
"""SciPy's names of norms, where it takes nan as it should."""

BLOCK = 1 << 15
"""So many differences are held at once."""


def _norms(difference: Any, p: float) -> Any:
    """The *p*-norms of the last dimension; changes *difference*."""
    if p == 0:
        return np.count_nonzero(difference, -1)
    np.abs(difference, out=difference)
    if p == math.inf:
        return np.maximum.reduce(difference, -1, initial=0)
    np.power(difference, p, out=difference)
    return np.power(np.add.reduce(difference, -1), 1 / p)


def _pairs(left: Any, right: Any, p: float, out: Any) -> None:
    """Write the distances of all rows of two matrices into *out*."""
    step = max(1, BLOCK // max(1, right.size))
    for start in range(0, len(left), step):
        block = slice(start, start + step)
        out[block] = _norms(left[block, None] - right, p)


def _cdist(x1: Any, x2: Any, p: float) -> Any:
    lead = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.empty((*lead, x1.shape[-2], x2.shape[-2]), x1.dtype)
    if not out.size or not x1.shape[-1]:
        out.fill(0)
        return out
    left, right = (np.broadcast_to(points, (*lead, *points.shape[-2:])) for points in (x1, x2))
    metric = METRICS.get(p)
    if metric is not None:
        from scipy.spatial.distance import cdist as scipys
    for batch in np.ndindex(*lead):
        if metric is None:
            _pairs(left[batch], right[batch], p, out[batch])
        else:
            out[batch] = scipys(left[batch], right[batch], metric)
    return out


def _pdist(x: Any, p: float) -> Any:
    count = len(x)
    out = np.zeros(count * (count - 1) // 2, x.dtype)
    if not out.size or not x.shape[1]:
        return out
    metric = METRICS.get(p)
    if metric is not None:
        from scipy.spatial.distance import pdist as scipys

        out[...] = scipys(x, metric)
        return out
    done = 0
    for at in range(count - 1):
        rest = count - 1 - at
        out[done : done + rest] = _norms(x[at + 1 :] - x[at], p)
        done += rest
    return out


def _wide_if_half(kernel: Callable[..., Any]) -> Kernel:
    @quiet
    def wide(*args: Any) -> Any:
        *arrays, p = args
        return kernel(*[array.astype(np.float32) for array in arrays], p).astype(arrays[0].dtype)

    own = quiet(kernel)

    def specialize(types: Signature) -> Any:
        return wide if is_half(types) else own

    return Kernel(own, specialize=specialize)


KERNELS = {"cdist": _wide_if_half(_cdist), "pdist": _wide_if_half(_pdist)}
