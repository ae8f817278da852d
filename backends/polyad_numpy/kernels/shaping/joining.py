"""Joining, reversing, triangles."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...order import arranged


def cat(arrays: list[Any], dim: int) -> Any:
    first = arrays[0]
    # PyTorch keeps channels-last order where all have it; any other order becomes row-major.
    if first.ndim in (4, 5) and all(map(_is_channels_last, arrays)):
        return np.concatenate(arrays, axis=dim)
    shape = list(first.shape)
    shape[dim] = sum([array.shape[dim] for array in arrays])
    return np.concatenate(arrays, axis=dim, out=np.empty(shape, first.dtype))


def _is_channels_last(array: Any) -> bool:
    order = (0, *range(2, array.ndim), 1)
    return not array.flags.c_contiguous and array.transpose(order).flags.c_contiguous


def stack(arrays: list[Any], dim: int) -> Any:
    first = arrays[0]
    shape = first.shape
    out = np.empty((*shape[:dim], len(arrays), *shape[dim:]), first.dtype)
    rows = out if dim == 0 else np.moveaxis(out, dim, 0)
    for position, array in enumerate(arrays):
        rows[position] = array
    return out


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


def repeat_interleave(array: Any, times: int, dim: int) -> Any:
    return np.ascontiguousarray(array).repeat(times, dim)


def tril(array: Any, diagonal: int) -> Any:
    return np.ascontiguousarray(np.tril(array, diagonal))


def triu(array: Any, diagonal: int) -> Any:
    return np.ascontiguousarray(np.triu(array, diagonal))


KERNELS = {
    "cat": Kernel(cat),
    "stack": Kernel(stack),
    "flip": Kernel(flip),
    "roll": Kernel(roll),
    "repeat_interleave": Kernel(repeat_interleave),
    "tril": Kernel(tril),
    "triu": Kernel(triu),
}
