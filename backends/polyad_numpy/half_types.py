"""float16 and bfloat16, which are too short to compute in."""

from __future__ import annotations

from typing import Any

import numpy as np


def half_to_float32(array: Any) -> Any:
    """A float16 or bfloat16 *array* as float32; another, or None, as it is."""
    return array.astype(np.float32) if array is not None and array.dtype.itemsize == 2 else array
