"""Padding: a copy of the inside, and the sides written around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet


def pad_constant(array: Any, pads: tuple[int, ...], value: float) -> Any:
    sides = list(zip(pads[::2], pads[1::2], array.shape, strict=True))
    shape = tuple([size + before + after for before, after, size in sides])
    out = np.empty(shape, array.dtype)
    for dim, (before, after, _) in enumerate(sides):
        if before > 0:
            out[_along(dim, 0, before)] = value
        if after > 0:
            out[_along(dim, max(shape[dim] - after, 0), None)] = value
    inside = tuple([slice(max(before, 0), size + before + after - max(after, 0)) for before, after, size in sides])
    out[inside] = array[tuple([slice(max(-before, 0), size - max(-after, 0)) for before, after, size in sides])]
    return out


def _along(dim: int, start: int, stop: int | None, step: int = 1) -> tuple[slice, ...]:
    return (*[slice(None)] * dim, slice(start, stop, step))


def _mirrored(dim: int, first: int, count: int) -> tuple[slice, ...]:
    """*count* places along *dim* from *first* on backwards."""
    end = first - count
    return _along(dim, first, None if end < 0 else end, -1)


def pad_repeated(array: Any, dim: int, before: int, after: int, mode: str) -> Any:
    size = array.shape[dim]
    start, stop = max(-before, 0), size - max(-after, 0)
    shape = list(array.shape)
    shape[dim] = size + before + after
    out = np.empty(shape, array.dtype)
    left, right = max(before, 0), max(after, 0)
    end = shape[dim] - right
    out[_along(dim, left, end)] = array[_along(dim, start, stop)]
    if left:
        inside = {
            "reflect": _mirrored(dim, left, left),
            "replicate": _along(dim, 0, 1),
            "circular": _along(dim, stop - left, stop),
        }
        out[_along(dim, 0, left)] = array[inside[mode]]
    if right:
        inside = {
            "reflect": _mirrored(dim, size - 2, right),
            "replicate": _along(dim, size - 1, size),
            "circular": _along(dim, start, start + right),
        }
        out[_along(dim, end, None)] = array[inside[mode]]
    return out


def pad_repeated_backward(grad: Any, size: int, dim: int, before: int, after: int, mode: str) -> Any:
    wide = np.float32 if grad.dtype.itemsize == 2 and grad.dtype.kind not in "iub" else grad.dtype
    start, stop = max(-before, 0), size - max(-after, 0)
    left, right = max(before, 0), max(after, 0)
    end = grad.shape[dim] - right
    if (start, stop) == (0, size):
        out = grad[_along(dim, left, end)].astype(wide, order="C")
    else:
        shape = list(grad.shape)
        shape[dim] = size
        out = np.zeros(shape, wide)
        out[_along(dim, start, stop)] = grad[_along(dim, left, end)]
    for count, side, reflected, edge, around in (
        (left, _along(dim, 0, left), (left, left), 0, stop - left),
        (right, _along(dim, end, None), (size - 2, right), size - 1, start),
    ):
        if not count:
            continue
        part = grad[side]
        if mode == "reflect":
            out[_mirrored(dim, *reflected)] += part
        elif mode == "replicate":
            out[_along(dim, edge, edge + 1)] += np.add.reduce(part, dim, wide, keepdims=True)
        else:
            out[_along(dim, around, around + count)] += part
    return out.astype(grad.dtype, copy=False)


KERNELS = {
    "pad_constant": Kernel(pad_constant),
    "pad_repeated": Kernel(pad_repeated),
    "pad_repeated_backward": Kernel(quiet(pad_repeated_backward)),
}
