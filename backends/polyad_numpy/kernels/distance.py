"""Distances of all pairs of rows, one row against all others at a time: no array holds the differences of all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature

from .products import is_half
from .quiet import quiet


def _norms(p: float) -> Callable[[Any, Any], Any]:
    """The function of (differences (n, m), out (n,)) that writes the *p*-norms of rows; it may change differences."""

    def euclidean(difference: Any, out: Any) -> None:
        np.einsum("ij,ij->i", difference, difference, out=out)
        np.sqrt(out, out=out)

    def city_block(difference: Any, out: Any) -> None:
        np.add.reduce(np.abs(difference, out=difference), 1, out=out)

    def largest(difference: Any, out: Any) -> None:
        np.maximum.reduce(np.abs(difference, out=difference), 1, out=out, initial=0)

    def count(difference: Any, out: Any) -> None:
        np.add.reduce(difference != 0, 1, out=out)

    def general(difference: Any, out: Any) -> None:
        np.power(np.abs(difference, out=difference), p, out=difference)
        np.power(np.add.reduce(difference, 1, out=out), 1 / p, out=out)

    return {2.0: euclidean, 1.0: city_block, math.inf: largest, 0.0: count}.get(p, general)


def _cdist(x1: Any, x2: Any, p: float) -> Any:
    lead = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.empty((*lead, x1.shape[-2], x2.shape[-2]), x1.dtype)
    if not out.size:
        return out
    norms = _norms(p)
    # The shorter side is looped over, the longer one is an array.
    swap = x1.shape[-2] > x2.shape[-2]
    left, right, target = (x2, x1, out.swapaxes(-1, -2)) if swap else (x1, x2, out)
    left, right = (np.broadcast_to(one, (*lead, *one.shape[-2:])) for one in (left, right))
    difference = np.empty(right.shape[-2:], x1.dtype)
    row = np.empty(right.shape[-2], x1.dtype)
    for batch in np.ndindex(*lead):
        others = np.ascontiguousarray(right[batch])
        for at, vector in enumerate(left[batch]):
            np.subtract(others, vector, out=difference)
            norms(difference, row)
            target[batch][at] = row
    return out


def _pdist(x: Any, p: float) -> Any:
    count = len(x)
    out = np.empty(count * (count - 1) // 2, x.dtype)
    norms = _norms(p)
    x = np.ascontiguousarray(x)
    done = 0
    for at in range(count - 1):
        rest = count - 1 - at
        norms(x[at + 1 :] - x[at], out[done : done + rest])
        done += rest
    return out


cdist, pdist = quiet(_cdist), quiet(_pdist)


@quiet
def _wide_cdist(x1: Any, x2: Any, p: float) -> Any:
    return _cdist(x1.astype(np.float32), x2.astype(np.float32), p).astype(x1.dtype)


@quiet
def _wide_pdist(x: Any, p: float) -> Any:
    return _pdist(x.astype(np.float32), p).astype(x.dtype)


def _wide_if_half(kernel: Callable[..., Any], wide: Callable[..., Any]) -> Kernel:
    def specialize(types: Signature) -> Any:
        return wide if is_half(types) else kernel

    return Kernel(kernel, specialize=specialize)


KERNELS = {"cdist": _wide_if_half(cdist, _wide_cdist), "pdist": _wide_if_half(pdist, _wide_pdist)}
