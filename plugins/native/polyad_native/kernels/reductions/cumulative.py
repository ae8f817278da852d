"""Running sums, products and extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...engine import Library

_LIBRARY = Library("kernels/reductions/cumulative")
_OPS = ("cumsum", "cumprod", "cummax", "cummin")
"""In the C file's order; the latter two say where their extremes are."""


def _maker(op: str) -> Callable[[Signature], Call | None]:
    kind = _OPS.index(op)

    def make(types: Signature) -> Call | None:
        run = _LIBRARY.function_of("running", types)

        def call(array: Any, dim: int) -> Any:
            if not array.size or not array.ndim:
                raise Declined
            array = np.ascontiguousarray(array)
            out = np.empty(array.shape, array.dtype)
            places = np.empty(array.shape, np.int64) if kind > 1 else out
            sizes = math.prod(array.shape[:dim]), array.shape[dim], math.prod(array.shape[dim + 1 :])
            run(kind, out, places, array, *sizes)
            return out if places is out else (out, places)

        return None if run is None else call

    make.__name__ = op
    return make


CUMULATIVE = tuple([_maker(op) for op in _OPS])
"""What makes the kernel of each op for a signature."""
