"""Padding with a constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def pad_constant(array: Any, pads: tuple[int, ...], value: float) -> Any:
    sides = list(zip(pads[::2], pads[1::2], array.shape, strict=True))
    shape = tuple([size + before + after for before, after, size in sides])
    out = np.empty(shape, array.dtype) if max(pads, default=0) <= 0 else np.full(shape, value, array.dtype)
    inside = tuple([slice(max(before, 0), size + before + after - max(after, 0)) for before, after, size in sides])
    out[inside] = array[tuple([slice(max(-before, 0), size - max(-after, 0)) for before, after, size in sides])]
    return out


KERNELS = {"pad_constant": Kernel(pad_constant)}
