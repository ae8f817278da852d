"""Elements at several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet
from ..sorting.sort import FROM_PARTITION


def at_ranks(array: Any, ranks: Any) -> Any:
    size = array.shape[-1]
    if size < FROM_PARTITION or ranks.shape[-1] > size // 16:
        return np.take_along_axis(np.sort(array, axis=-1), ranks, -1)
    # NumPy's partition wants each rank once, and the same for all lines; their nan come last, as sort's do.
    return np.take_along_axis(np.partition(array, np.unique(ranks), axis=-1), ranks, -1)


KERNELS = {
    "at_ranks": Kernel(quiet(at_ranks)),
}
