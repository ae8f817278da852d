"""Counting by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def bincount(array: Any, weights: Any, size: int) -> Any:
    counts = np.bincount(array, weights, size)
    return counts if weights is None else counts.astype(weights.dtype, copy=False)


KERNELS = {"bincount": Kernel(bincount)}
