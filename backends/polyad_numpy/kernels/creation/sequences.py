"""Numbers that follow a rule: arange, linspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.device import Device
from polyad.base.dtypes import FLOATING, INTEGER, DType, float32
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet

EXACT = 1 << 24
"""Up to this number float32 has every integer."""


def arange(start: Any, step: Any, count: int, dtype: DType, device: Device) -> Any:
    target = numpy_dtype(dtype)
    whole = isinstance(start, int) and isinstance(step, int)
    if dtype.category == INTEGER and whole:
        numbers = np.arange(count) if start == 0 and step == 1 else np.arange(count) * step + start
        return numbers.astype(target, copy=False)
    if dtype is float32 and count <= EXACT and start == 0 and step == 1:
        return np.arange(count, dtype=target)
    # In float64, rounded once.
    numbers = np.arange(count, dtype=np.float64)
    if step != 1:
        np.multiply(numbers, step, numbers)
    if start != 0:
        np.add(numbers, start, numbers)
    return numbers.astype(target, copy=False)


def linspace(start: Any, end: Any, steps: int, dtype: DType, device: Device) -> Any:
    target = numpy_dtype(dtype)
    if steps == 1:
        return np.full(1, start, target)
    wide = target if dtype.category >= FLOATING and dtype.itemsize > 2 else np.dtype(np.float32)
    step, half = (end - start) / (steps - 1) if steps else 0.0, steps // 2
    numbers = np.empty(steps, wide)
    places = _places(steps - half, numbers.real.dtype)
    early, late = numbers[:half], numbers[half:]
    np.add(np.multiply(places[:half], step, out=early), start, out=early)
    np.subtract(end, np.multiply(places[::-1], step, out=late), out=late)
    return numbers.astype(target, copy=False)


def _places(count: int, dtype: Any) -> Any:
    return np.arange(count, dtype=dtype if count <= EXACT else np.float64).astype(dtype, copy=False)


KERNELS = {
    "arange": Kernel(quiet(arange)),
    "linspace": Kernel(quiet(linspace)),
}
