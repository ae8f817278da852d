"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

_HALF = ("float16", "bfloat16")


def sum_(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    if array.dtype.name in _HALF:
        return np.asarray(np.add.reduce(array, axis=dims, dtype=np.float32, keepdims=keepdim)).astype(array.dtype)
    return np.asarray(np.add.reduce(array, axis=dims, keepdims=keepdim))


KERNELS = {"sum": Kernel(sum_)}
