"""The operands that cases share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SIDE = 1024


class Case(NamedTuple):
    """One function on both sides."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    operands: tuple[Any, ...]


class Arrays:
    """Random operands of 2**20 elements.

    Attributes:
        x, y: normal (1024, 1024), float32.
        unit: uniform within (0, 1).
        integers, others: int64 within [0, 1000) and [1, 1000).
        mask: where x > 0.
        complex: x + iy.
        flat: x as a vector.  order: a permutation of its indices.
        image: x as (16, 16, 64, 64).
    """

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.x = random.standard_normal((SIDE, SIDE), dtype=np.float32)
        self.y = random.standard_normal((SIDE, SIDE), dtype=np.float32)
        self.unit = random.random((SIDE, SIDE), dtype=np.float32) * np.float32(0.98) + np.float32(0.01)
        self.integers = random.integers(0, 1000, (SIDE, SIDE))
        self.others = random.integers(1, 1000, (SIDE, SIDE))
        self.mask = self.x > 0
        self.complex = (self.x + 1j * self.y).astype(np.complex64)
        self.flat, self.order = self.x.reshape(-1), random.permutation(SIDE * SIDE)
        self.image = self.x.reshape(16, 16, 64, 64)
