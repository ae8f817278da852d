"""Running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...engine import Library

_LIBRARY = Library("kernels/reductions/cumulative")


def cumsum(types: Signature) -> Call | None:
    """The kernel of `cumsum`."""
    run = _LIBRARY.function_of("running_sum", types)

    def call(array: Any, dim: int) -> Any:
        if not array.size or not array.ndim:
            raise Declined
        array = np.ascontiguousarray(array)
        out = np.empty(array.shape, array.dtype)
        run(out, array, math.prod(array.shape[:dim]), array.shape[dim], math.prod(array.shape[dim + 1 :]))
        return out

    return None if run is None else call
