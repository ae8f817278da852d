"""Positions counted from the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def from_front(index: Any, size: int) -> Any:
    if not index.size or index.min() >= 0:
        return index.copy()
    return np.where((index < 0) & (index >= -size), index + size, index)


KERNELS = {
    "from_front": Kernel(from_front),
}
