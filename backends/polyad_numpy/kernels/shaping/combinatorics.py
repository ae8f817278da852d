"""Combinations, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def combinations(array: Any, r: int, replace: bool) -> Any:
    size, gap = len(array), 0 if replace else 1
    columns = [np.arange(size)]
    for _ in range(1, r):
        last = columns[-1]
        counts = size - gap - last
        ends = np.cumsum(counts)
        column = np.arange(ends[-1] if size else 0)
        column += np.repeat(last + (gap - ends + counts), counts)
        columns = [*[np.repeat(earlier, counts) for earlier in columns], column]
    out = np.empty((len(columns[0]), r), array.dtype)
    for at, column in enumerate(columns):
        out[:, at] = array.take(column)
    return out


KERNELS = {
    "combinations": Kernel(combinations),
}
