"""Combinations, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def combinations(array: Any, r: int, replace: bool) -> Any:
    gap = 0 if replace else 1
    bound = len(array) - (r - 1) * gap
    last = np.arange(bound)
    columns, continued = [last], []
    for _ in range(1, r):
        # A row that ends with p goes on with each position behind p that leaves enough for the columns to come.
        bound += gap
        counts = (bound - gap) - last
        ends = np.cumsum(counts)
        first, continues = last + (gap - ends + counts), np.repeat(np.arange(len(last)), counts)
        last = np.arange(len(continues))
        last += first[continues]
        columns.append(last)
        continued.append(continues)
    out = np.empty((len(last), r), array.dtype)
    out[:, r - 1] = array.take(columns.pop())
    rows = None
    for at in reversed(range(r - 1)):
        continues = continued.pop()
        rows = continues if rows is None else continues[rows]
        out[:, at] = array.take(columns.pop()[rows])
    return out


KERNELS = {
    "combinations": Kernel(combinations),
}
