"""Repeating."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def repeat_interleave(array: Any, times: int, dim: int) -> Any:
    return np.ascontiguousarray(array).repeat(times, dim)


KERNELS = {
    "repeat_interleave": Kernel(repeat_interleave),
}
