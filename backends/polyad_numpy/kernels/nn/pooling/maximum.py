"""The largest element of each window, where it is, and the way back."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ....workers import spread
from .windows import Sizes, Windows, along, as_planes, fold


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _pitches(size: Sizes) -> list[int]:
    """How far apart neighbours along each dimension lie in a flattened image."""
    return [math.prod(size[axis + 1 :]) for axis in range(len(size))]


def max_pool(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Any:
    windows = Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    planes = as_planes(x)
    out = np.empty((*x.shape[:2], *windows.out), x.dtype)
    flat = as_planes(out)
    lowest = _lowest(x.dtype)

    def work(first: int, end: int) -> None:
        fold(np.maximum, windows.pad(planes[first:end], lowest), windows, flat[first:end])

    if out.size:
        spread(work, len(planes), cost=2 * x.size)
    return out


def max_pool_with_indices(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Any, Any]:
    windows = Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    planes, pitches = as_planes(x), _pitches(windows.size)
    best, indices = np.empty((*x.shape[:2], *windows.out), x.dtype), np.empty((*x.shape[:2], *windows.out), np.int64)
    flat_best, flat_indices = as_planes(best), as_planes(indices)
    # Where each window begins in the flattened image, and the position of its first element inside.
    origin: Any = 0
    first_inside: Any = 0
    for axis, (out, step, amount, spacing, pitch) in enumerate(
        zip(windows.out, stride, padding, dilation, pitches, strict=True)
    ):
        start = np.arange(out) * step - amount
        inside = np.maximum(-(start // spacing), 0) * spacing
        origin = origin + along(start * pitch, axis, len(pitches))
        first_inside = first_inside + along(inside * pitch, axis, len(pitches))
    steps = [spacing * pitch for spacing, pitch in zip(dilation, pitches, strict=True)]
    distances = [
        sum([place * step for place, step in zip(position, steps, strict=True)])
        for position in itertools.product(*map(range, kernel))
    ]
    floating = x.dtype.kind not in "iu"

    def work(first: int, end: int) -> None:
        padded = windows.pad(planes[first:end], _lowest(x.dtype))
        most, at = flat_best[first:end], flat_indices[first:end]
        most.fill(_lowest(x.dtype))
        at[...] = first_inside
        for tap, distance in zip(windows.taps(), distances, strict=True):
            values = padded[tap]
            better = np.greater(values, most)
            if floating:
                better |= np.isnan(values)
            np.copyto(most, values, where=better)
            np.copyto(at, distance, where=better)
        at += origin

    if best.size:
        spread(work, len(planes), cost=8 * x.size)
    return best, indices


def max_pool_backward(
    g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Any:
    windows = Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    planes, arriving = as_planes(x), as_planes(g)
    result = np.zeros(x.shape, g.dtype)
    flat = as_planes(result)
    apart = all(
        step >= spacing * (extent - 1) + 1 for step, spacing, extent in zip(stride, dilation, kernel, strict=True)
    )

    def work(first: int, end: int) -> None:
        gradient = arriving[first:end]
        most = np.empty(gradient.shape, x.dtype)
        fold(np.maximum, windows.pad(planes[first:end], _lowest(x.dtype)), windows, most)
        if np.isnan(most).any():
            _place_by_index(gradient, planes[first:end], flat[first:end], windows, kernel, stride, padding, dilation)
            return
        # NaN around the image equals no maximum, so the padding gets nothing.
        padded = windows.pad(planes[first:end], np.nan)
        into = np.zeros(padded.shape, g.dtype) if windows.reaches_out else flat[first:end]
        finite = bool(np.isfinite(gradient).all())
        taken: Any = None
        for tap in windows.taps():
            chosen = np.equal(padded[tap], most)
            if taken is None:
                taken = chosen
            else:
                # For bools, a > b is "a and not b": the first of equal maxima keeps its place.
                taken, chosen = taken | chosen, np.greater(chosen, taken)
            target = into[tap]
            if finite and apart:
                np.multiply(gradient, chosen, out=target)
            else:
                target += np.multiply(gradient, chosen) if finite else np.where(chosen, gradient, 0)
        if windows.reaches_out:
            flat[first:end] = into[windows.inside]

    if g.size:
        spread(work, len(planes), cost=6 * x.size)
    return result


def _place_by_index(
    gradient: Any,
    planes: Any,
    into: Any,
    windows: Windows,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
) -> None:
    """The slow way, which knows where the NaN lies."""
    count, area, dims = len(planes), math.prod(windows.size), len(kernel)
    floats = (planes if planes.dtype.itemsize > 2 else planes.astype(np.float32)).reshape(count, area)
    best = np.full(gradient.shape, -np.inf, floats.dtype)
    at = np.full(gradient.shape, -1)
    starts = [np.arange(out) * step - amount for out, step, amount in zip(windows.out, stride, padding, strict=True)]
    pitches = _pitches(windows.size)
    for position in itertools.product(*map(range, kernel)):
        place: Any = 0
        valid: Any = True
        for axis in range(dims):
            here = starts[axis] + position[axis] * dilation[axis]
            place = place + along(here * pitches[axis], axis, dims)
            valid = valid & along((here >= 0) & (here < windows.size[axis]), axis, dims)
        place = np.where(valid, place, 0)
        values = floats[:, place]
        better = valid & ((values > best) | np.isnan(values) | (at < 0))
        best, at = np.where(better, values, best), np.where(better, place, at)
    offsets = along(np.arange(count) * area, 0, dims + 1)
    np.add.at(into.reshape(-1), (at + offsets).ravel(), gradient.ravel())


KERNELS = {
    "max_pool": Kernel(max_pool),
    "max_pool_with_indices": Kernel(max_pool_with_indices),
    "max_pool_backward": Kernel(max_pool_backward),
}
