"""The mean of each window, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ....workers import spread
from .windows import Sizes, Windows, along, as_planes, fold


def _divisors(
    windows: Windows, kernel: Sizes, stride: Sizes, padding: Sizes, include_pad: bool, divisor: int | None
) -> Any:
    """What each window's sum is divided by: a number if all windows agree, else a number for each window."""
    if divisor is not None:
        return np.asarray(divisor)
    if not windows.reaches_out:
        return np.prod(kernel)
    count: Any = 1
    for axis, (size, out, extent, step, amount) in enumerate(
        zip(windows.size, windows.out, kernel, stride, padding, strict=True)
    ):
        start = np.arange(out) * step - amount
        end = np.minimum(start + extent, size + amount)
        length = end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0)
        count = count * along(length, axis, len(kernel))
    return np.maximum(count, 1)


def _divide_integers(sums: Any, divisors: Any) -> None:
    """``sums / divisors`` towards zero, into *sums*."""
    negative = (sums < 0) != (divisors < 0)
    np.floor_divide(np.abs(sums), np.abs(divisors), out=sums)
    np.negative(sums, out=sums, where=negative)


def avg_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, include_pad: bool, divisor: int | None
) -> Any:
    if x.dtype.itemsize == 2:
        wide = x.astype(np.float32)
        return avg_pool(wide, kernel, stride, padding, ceil_mode, include_pad, divisor).astype(x.dtype)
    windows = Windows(x.shape[2:], kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    planes = as_planes(x)
    out = np.empty((*x.shape[:2], *windows.out), x.dtype)
    flat = as_planes(out)
    divide = _divisors(windows, kernel, stride, padding, include_pad, divisor).astype(x.dtype)

    def work(first: int, end: int) -> None:
        part = flat[first:end]
        fold(np.add, windows.pad(planes[first:end], 0), windows, part)
        if x.dtype.kind == "i":
            _divide_integers(part, divide)
        else:
            np.divide(part, divide, out=part)

    if out.size:
        spread(work, len(planes), cost=2 * x.size)
    return out


def avg_pool_backward(
    g: Any,
    size: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Any:
    if g.dtype.itemsize == 2:
        wide = g.astype(np.float32)
        return avg_pool_backward(wide, size, kernel, stride, padding, ceil_mode, include_pad, divisor).astype(g.dtype)
    windows = Windows(size, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    arriving = as_planes(g)
    result = np.empty((*g.shape[:2], *size), g.dtype)
    flat = as_planes(result)
    divide = _divisors(windows, kernel, stride, padding, include_pad, divisor).astype(g.dtype)

    def work(first: int, end: int) -> None:
        share = arriving[first:end] / divide
        for axis in range(len(kernel) - 1, -1, -1):
            shape = list(share.shape)
            shape[axis + 1] = windows.padded[axis]
            wider = np.zeros(shape, g.dtype)
            before = (slice(None),) * (axis + 1)
            for part in windows.slices[axis]:
                wider[(*before, part)] += share
            share = wider
        flat[first:end] = share[windows.inside]

    if result.size:
        spread(work, len(arriving), cost=2 * result.size)
    return result


KERNELS = {"avg_pool": Kernel(avg_pool), "avg_pool_backward": Kernel(avg_pool_backward)}
