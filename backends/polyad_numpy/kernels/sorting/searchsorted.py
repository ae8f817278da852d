"""Searching sorted sequences, membership. NumPy, too, counts nan as largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def _comparable(array: Any) -> Any:
    # NumPy compares float16 slowly and bfloat16, which is not its own, element by element.
    return array.astype(np.float32) if array.dtype.kind not in "iub" and array.dtype.itemsize == 2 else array


def searchsorted(sequence: Any, values: Any, right: bool) -> Any:
    sequence, values = _comparable(sequence), _comparable(values)
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side))
    out = np.empty(values.shape, np.int64)
    for place in np.ndindex(*sequence.shape[:-1]):
        out[place] = np.searchsorted(sequence[place], values[place], side)
    return out


def isin(elements: Any, test_elements: Any, assume_unique: bool) -> Any:
    return np.asarray(np.isin(_comparable(elements), _comparable(test_elements), assume_unique))


KERNELS = {"searchsorted": Kernel(searchsorted), "isin": Kernel(isin)}
