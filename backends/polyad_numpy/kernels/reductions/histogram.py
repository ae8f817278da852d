"""Counting by position and by bin. Bins are counted in blocks of elements that stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet

BLOCK = 1 << 16


def bincount(array: Any, weights: Any, size: int) -> Any:
    counts = np.bincount(array, weights, size)
    return counts if weights is None else counts.astype(weights.dtype, copy=False)


@quiet
def bin_counts(array: Any, edges: Any, low: float, high: float, even: bool) -> Any:
    if array.dtype.kind not in "f" or array.dtype.itemsize == 2:
        array, edges = array.astype(np.float32), edges.astype(np.float32)
    if (edges[1:] < edges[:-1]).any():
        return np.zeros(len(edges) - 1, np.int64)  # no value is above the first edge and below the last
    counts = np.zeros(len(edges) - 1, np.int64)
    for start in range(0, len(array), BLOCK):
        block = array[start : start + BLOCK]
        counts += _even(block, edges, low, high) if even else _sorted(block, edges)
    return counts


def _even(block: Any, edges: Any, low: float, high: float) -> Any:
    bins = len(edges) - 1
    inside = (block >= edges[0]) & (block <= edges[-1])
    if not inside.all():
        block = block[inside]
    place = ((block - low) * (bins / (high - low))).astype(np.intp)
    np.minimum(place, bins - 1, out=place)
    # Rounding may miss by one bin: the edges decide.
    place -= block < edges[place]
    place += (block >= edges[place + 1]) & (place != bins - 1)
    return np.bincount(place, minlength=bins)


def _sorted(block: Any, edges: Any) -> Any:
    ordered = np.sort(block)
    below = np.searchsorted(ordered, edges, "left")
    below[-1] = np.searchsorted(ordered, edges[-1], "right")
    return np.diff(below)


KERNELS = {"bincount": Kernel(bincount), "bin_counts": Kernel(bin_counts)}
