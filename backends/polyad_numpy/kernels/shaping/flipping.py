"""Reversing and rolling."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...order import arranged


def flip(array: Any, dims: tuple[int, ...]) -> Any:
    # A copy always: reversed along dimensions of size 1 only, it is row-major already, and still the input's memory.
    places = tuple([slice(None, None, -1 if dim in dims else 1) for dim in range(array.ndim)])
    return arranged(np.array(array[places]), array)


def roll(array: Any, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    out = np.empty(array.shape, array.dtype)
    if not array.size:
        return out
    total = [0] * array.ndim
    for shift, dim in zip(shifts, dims, strict=True):
        total[dim] += shift
    pairs = []
    for shift, size in zip(total, array.shape, strict=True):
        cut = shift % size
        whole = [(slice(cut, None), slice(None, size - cut)), (slice(None, cut), slice(size - cut, None))]
        pairs.append(whole if cut else [(slice(None), slice(None))])
    for parts in itertools.product(*pairs):
        out[tuple([into for into, _ in parts])] = array[tuple([given for _, given in parts])]
    return out


KERNELS = {
    "flip": Kernel(flip),
    "roll": Kernel(roll),
}
