"""Pooling by slices: position (i, j) of all windows at once is one strided slice of the images.

A maximum or a sum over windows is taken over rows first, then over columns. Everything works on (planes, H, W), where
planes are images times channels, several planes at a time in each thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from .workers import spread

Pair = tuple[int, int]


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


class _Windows:
    """The slices that the positions of all windows are in."""

    def __init__(self, size: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool) -> None:
        self.size, self.padding = size, padding
        self.out = tuple(
            [_count(*axis, ceil_mode) for axis in zip(size, kernel, stride, padding, dilation, strict=True)]
        )
        self.rows, self.columns = (
            [slice(i * spacing, i * spacing + (out - 1) * step + 1, step) for i in range(extent)]
            for out, extent, step, spacing in zip(self.out, kernel, stride, dilation, strict=True)
        )
        # The padded size that all slices lie in; smaller than the image if its last rows or columns are in no window.
        self.padded = tuple(
            [
                max(slices[-1].stop, amount + have)
                for slices, amount, have in zip((self.rows, self.columns), padding, size, strict=True)
            ]
        )
        self.reaches_out = self.padded != tuple(size) or padding != (0, 0)
        top, left = padding
        self.inside = (slice(None), slice(top, top + size[0]), slice(left, left + size[1]))

    def pad(self, planes: Any, value: float) -> Any:
        """The planes with *value* around them; themselves if no window reaches beyond them."""
        if not self.reaches_out:
            return planes
        made = np.full((len(planes), *self.padded), value, planes.dtype)
        made[self.inside] = planes
        return made

    def taps(self) -> list[tuple[slice, slice, slice]]:
        """The slice of each window position, in row-major order."""
        return [(slice(None), row, column) for row in self.rows for column in self.columns]


def _planes(x: Any) -> Any:
    return x.reshape(-1, *x.shape[2:])


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _fold(function: Any, planes: Any, rows: list[slice], columns: list[slice], out: Any) -> None:
    """Windows reduced by *function* (np.maximum or np.add): rows, then columns."""
    for slices, source_at in (
        (rows, lambda one: (slice(None), one)),
        (columns, lambda one: (slice(None), slice(None), one)),
    ):
        last = slices is columns
        parts = [planes[source_at(one)] for one in slices]
        if len(parts) == 1:
            planes = parts[0]
            if last:
                out[...] = planes
            continue
        made = function(parts[0], parts[1], out=out) if last else function(parts[0], parts[1])
        for part in parts[2:]:
            function(made, part, out=made)
        planes = made


def max_pool2d(x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool) -> Any:
    windows = _Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    planes = _planes(x)
    out = np.empty((*x.shape[:2], *windows.out), x.dtype)
    flat = _planes(out)
    lowest = _lowest(x.dtype)

    def work(first: int, end: int) -> None:
        _fold(np.maximum, windows.pad(planes[first:end], lowest), windows.rows, windows.columns, flat[first:end])

    if out.size:
        spread(work, len(planes), cost=2 * x.size)
    return out


def max_pool2d_with_indices(
    x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> tuple[Any, Any]:
    windows = _Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    planes, width = _planes(x), x.shape[3]
    best, indices = np.empty((*x.shape[:2], *windows.out), x.dtype), np.empty((*x.shape[:2], *windows.out), np.int64)
    flat_best, flat_indices = _planes(best), _planes(indices)
    # Where each window begins in the flattened image, and the position of its first element inside.
    begin, inside = [], []
    for out, step, amount, spacing in zip(windows.out, stride, padding, dilation, strict=True):
        start = np.arange(out) * step - amount
        begin.append(start)
        inside.append(np.maximum(-(start // spacing), 0) * spacing)
    origin = begin[0][:, None] * width + begin[1]
    first_inside = inside[0][:, None] * width + inside[1]
    distances = [i * dilation[0] * width + j * dilation[1] for i in range(kernel[0]) for j in range(kernel[1])]
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


def max_pool2d_backward(
    g: Any, x: Any, out: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> Any:
    windows = _Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    planes, maxima, arriving = _planes(x), _planes(out), _planes(g)
    result = np.zeros(x.shape, g.dtype)
    flat = _planes(result)
    apart = stride[0] >= dilation[0] * (kernel[0] - 1) + 1 and stride[1] >= dilation[1] * (kernel[1] - 1) + 1

    def work(first: int, end: int) -> None:
        most, gradient = maxima[first:end], arriving[first:end]
        if np.isnan(most).any():
            _place_by_index(
                gradient, planes[first:end], flat[first:end], windows, kernel, stride, padding, dilation, ceil_mode
            )
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
        spread(work, len(planes), cost=4 * x.size)
    return result


def _place_by_index(
    gradient: Any,
    planes: Any,
    into: Any,
    windows: _Windows,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
) -> None:
    """The slow way, which knows where the NaN lies."""
    count, size = len(planes), windows.size[0] * windows.size[1]
    floats = planes if planes.dtype.itemsize > 2 else planes.astype(np.float32)
    best = np.full(gradient.shape, -np.inf, floats.dtype)
    at = np.full(gradient.shape, -1)
    rows = np.arange(windows.out[0])[:, None] * stride[0] - padding[0]
    columns = np.arange(windows.out[1]) * stride[1] - padding[1]
    for position in range(kernel[0] * kernel[1]):
        row, column = rows + position // kernel[1] * dilation[0], columns + position % kernel[1] * dilation[1]
        valid = (row >= 0) & (row < windows.size[0]) & (column >= 0) & (column < windows.size[1])
        place = np.where(valid, row * windows.size[1] + column, 0)
        values = floats.reshape(count, size)[:, place]
        better = valid & ((values > best) | np.isnan(values) | (at < 0))
        best, at = np.where(better, values, best), np.where(better, place, at)
    offsets = np.arange(count)[:, None, None] * size
    np.add.at(into.reshape(-1), (at + offsets).ravel(), gradient.ravel())


def _divisors(
    windows: _Windows, kernel: Pair, stride: Pair, padding: Pair, include_pad: bool, divisor: int | None
) -> Any:
    """What each window's sum is divided by: a number if all windows agree, else (OH, OW)."""
    if divisor is not None:
        return float(divisor)
    if not windows.reaches_out:
        return float(kernel[0] * kernel[1])
    lengths = []
    for size, out, extent, step, amount in zip(windows.size, windows.out, kernel, stride, padding, strict=True):
        start = np.arange(out) * step - amount
        end = np.minimum(start + extent, size + amount)
        lengths.append(end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0))
    return np.maximum(lengths[0][:, None] * lengths[1], 1).astype(np.float64)


def avg_pool2d(
    x: Any, kernel: Pair, stride: Pair, padding: Pair, ceil_mode: bool, include_pad: bool, divisor: int | None
) -> Any:
    if x.dtype.itemsize == 2:
        return avg_pool2d(x.astype(np.float32), kernel, stride, padding, ceil_mode, include_pad, divisor).astype(
            x.dtype
        )
    windows = _Windows(x.shape[2:], kernel, stride, padding, (1, 1), ceil_mode)
    planes = _planes(x)
    out = np.empty((*x.shape[:2], *windows.out), x.dtype)
    flat = _planes(out)
    divide = np.asarray(_divisors(windows, kernel, stride, padding, include_pad, divisor), x.dtype)

    def work(first: int, end: int) -> None:
        part = flat[first:end]
        _fold(np.add, windows.pad(planes[first:end], 0), windows.rows, windows.columns, part)
        np.divide(part, divide, out=part)

    if out.size:
        spread(work, len(planes), cost=2 * x.size)
    return out


def avg_pool2d_backward(
    g: Any,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Any:
    if g.dtype.itemsize == 2:
        return avg_pool2d_backward(
            g.astype(np.float32), size, kernel, stride, padding, ceil_mode, include_pad, divisor
        ).astype(g.dtype)
    windows = _Windows(size, kernel, stride, padding, (1, 1), ceil_mode)
    arriving = _planes(g)
    result = np.empty((*g.shape[:2], *size), g.dtype)
    flat = _planes(result)
    divide = np.asarray(_divisors(windows, kernel, stride, padding, include_pad, divisor), g.dtype)

    def work(first: int, end: int) -> None:
        share = arriving[first:end] / divide
        wide = np.zeros((end - first, windows.out[0], windows.padded[1]), g.dtype)
        for column in windows.columns:
            wide[:, :, column] += share
        high = np.zeros((end - first, *windows.padded), g.dtype)
        for row in windows.rows:
            high[:, row] += wide
        flat[first:end] = high[windows.inside]

    if result.size:
        spread(work, len(arriving), cost=2 * result.size)
    return result


KERNELS = {
    "max_pool2d": Kernel(max_pool2d),
    "max_pool2d_with_indices": Kernel(max_pool2d_with_indices),
    "max_pool2d_backward": Kernel(max_pool2d_backward),
    "avg_pool2d": Kernel(avg_pool2d),
    "avg_pool2d_backward": Kernel(avg_pool2d_backward),
}
