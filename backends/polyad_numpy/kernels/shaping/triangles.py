"""Triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def tril(array: Any, diagonal: int) -> Any:
    return np.ascontiguousarray(np.tril(array, diagonal))


def triu(array: Any, diagonal: int) -> Any:
    return np.ascontiguousarray(np.triu(array, diagonal))


KERNELS = {
    "tril": Kernel(tril),
    "triu": Kernel(triu),
}
