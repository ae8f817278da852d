"""Joining; block diagonals are written into zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


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


def block_diag(blocks: list[Any]) -> Any:
    out = np.zeros([sum(sizes) for sizes in zip(*[block.shape for block in blocks], strict=True)], blocks[0].dtype)
    row = column = 0
    for block in blocks:
        height, width = block.shape
        out[row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return out


KERNELS = {
    "cat": Kernel(cat),
    "stack": Kernel(stack),
    "block_diag": Kernel(block_diag),
}
