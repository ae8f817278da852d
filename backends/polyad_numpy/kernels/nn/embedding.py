"""Vectors looked up by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ..indexing.index_select import _accumulating, _add_slices, _check, sum_runs, taken


def embedding(weight: Any, index: Any, padding_idx: int, by_frequency: bool) -> Any:
    _check("embedding", index, weight.shape[0], "input")
    return taken(weight, index, 0)


def embedding_backward(gradient: Any, index: Any, rows: int, padding_idx: int, by_frequency: bool) -> Any:
    size = gradient.shape[-1]
    index = index.reshape(-1)
    gradient = gradient.reshape(index.size, size)
    if padding_idx >= 0:
        kept = index != padding_idx
        index, gradient = index[kept], gradient[kept]
    wide = _accumulating(gradient.dtype)
    out = np.zeros((rows, size), wide)
    if index.size:
        _add_slices(out, index, gradient.astype(wide, copy=False))
        if by_frequency:
            out /= np.maximum(np.bincount(index, minlength=rows), 1).astype(wide)[:, None]
    return out.astype(gradient.dtype, copy=False)


def bag_sum(weight: Any, index: Any, bag: Any, factors: Any, bags: int, by_frequency: bool, spare: int) -> Any:
    _check("embedding_bag", index, weight.shape[0], "input")
    if spare:
        kept = bag < bags  # the rest has bags in order
        index, bag, factors = index[kept], bag[kept], None if factors is None else factors[kept]
    wide = _accumulating(weight.dtype)
    out = np.zeros((bags, weight.shape[1]), wide)
    if index.size:
        rows = weight.take(index, 0).astype(wide, copy=False)
        if factors is not None:
            rows *= factors[:, None].astype(wide, copy=False)
        starts = np.flatnonzero(np.concatenate(([True], bag[1:] != bag[:-1])))
        out[bag[starts]] = sum_runs(rows, starts, wide)
    return out.astype(weight.dtype, copy=False)


def bag_max(weight: Any, index: Any, bag: Any, bags: int) -> Any:
    _check("embedding_bag", index, weight.shape[0], "input")
    out = np.zeros((bags, weight.shape[1]), weight.dtype)
    if index.size:
        starts = np.flatnonzero(np.concatenate(([True], bag[1:] != bag[:-1])))
        out[bag[starts]] = np.maximum.reduceat(weight.take(index, 0), starts, axis=0)
    return out


KERNELS = {
    "bag_max": Kernel(bag_max),
    "bag_sum": Kernel(bag_sum),
    "embedding": Kernel(embedding),
    "embedding_backward": Kernel(embedding_backward),
}
