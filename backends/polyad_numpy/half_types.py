"""Computing in float32 with float16 and bfloat16, in which NumPy is slow and sums lose their digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .quiet import thread


def half_to_float32(array: Any) -> Any:
    """An array of a half type in float32; others, and None, as they are."""
    return array.astype(np.float32) if array is not None and array.dtype.itemsize == 2 else array


def narrow(array: Any, dtype: Any) -> Any:
    """*array* in *dtype*; what a half type cannot hold is infinite there."""
    return thread.run(array.astype, dtype, copy=False)


def in_float32(call: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    """*call*, computing with float32 arrays where it is given others, its result in *dtype*."""

    def widened(*args: Any) -> Any:
        result = call(*[arg.astype(np.float32) if isinstance(arg, np.ndarray) else arg for arg in args])
        return thread.run(result.astype, dtype)  # which may overflow

    return widened
