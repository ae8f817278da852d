"""Joining, reversing, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from .order import arranged


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


def tril(array: Any, diagonal: int) -> Any:
    return np.ascontiguousarray(np.tril(array, diagonal))


def triu(array: Any, diagonal: int) -> Any:
    return np.ascontiguousarray(np.triu(array, diagonal))


KERNELS = {
    "cat": Kernel(cat),
    "stack": Kernel(stack),
    "flip": Kernel(flip),
    "tril": Kernel(tril),
    "triu": Kernel(triu),
}
