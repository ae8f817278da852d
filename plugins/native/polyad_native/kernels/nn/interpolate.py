"""Resampling along a dimension, and its gradient."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...engine import AS_WRITTEN, Library

_LIBRARY = Library("kernels/nn/interpolate", flags=AS_WRITTEN)
_FIVE = struct.Struct("5q").pack


def _resampled(run: Any, array: Any, weights: Any, places: Any, size: int, dim: int, back: bool) -> Any:
    """*array* with its dimension *dim* brought from *size* elements to as many as there are weights, or *back*."""
    shape = array.shape
    taps, count = weights.shape
    if not array.size or not weights.size or weights.dtype != array.dtype or places.dtype != np.int64:
        raise Declined
    before, after = shape[:dim], shape[dim + 1 :]
    out = np.empty((*before, size if back else count, *after), array.dtype)
    sizes = _FIVE(math.prod(before), size, count, math.prod(after), taps)
    if not run(out, *map(np.ascontiguousarray, (array, weights, places)), sizes):
        raise Declined
    return out


def resample(types: Signature) -> Call | None:
    """The kernel of `resample`."""
    run = _LIBRARY.function_of("resample", types)

    def call(array: Any, weights: Any, places: Any, dim: int) -> Any:
        return _resampled(run, array, weights, places, array.shape[dim], dim, False)

    return None if run is None else call


def resample_backward(types: Signature) -> Call | None:
    """The kernel of `resample_backward`."""
    run = _LIBRARY.function_of("resample_backward", types)

    def call(gradient: Any, weights: Any, places: Any, size: int, dim: int) -> Any:
        return _resampled(run, gradient, weights, places, size, dim, True)

    return None if run is None else call
