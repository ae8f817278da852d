"""The largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature, TensorType
from polyad.base.dtypes import float32, float64

from ...choosing import Call
from ...engine import HALVES, Library

_LIBRARY = Library("kernels/sorting/sort", (float32, float64, *HALVES))
_MOST = 128
"""So many are found by one walk; MOST in the C file."""


def topk(types: Signature) -> Call | None:
    """The kernel of `topk`, for few elements of many."""
    assert isinstance(types[0], TensorType)
    run = _LIBRARY.function("leading", types[0].dtype)

    def call(array: Any, k: int, dim: int, largest: bool) -> Any:
        if not array.size or not array.ndim or not 0 < k <= min(_MOST, array.shape[dim] // 4):
            raise Declined
        lines = np.ascontiguousarray(np.moveaxis(array, dim, -1))
        places = np.empty((*lines.shape[:-1], k), np.int64)
        if not run(places, lines, lines.size // lines.shape[-1], lines.shape[-1], k, largest):
            raise Declined
        indices = np.ascontiguousarray(np.moveaxis(places, -1, dim))
        return np.take_along_axis(array, indices, dim), indices

    return None if run is None else call
