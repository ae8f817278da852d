"""Sums of bags of vectors, and the gradient of embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ..indexing.gather_scatter import add_at, added


def embedding_backward(types: Signature) -> Call | None:
    """The kernel of `embedding_backward`."""
    add = add_at(types)

    def call(gradient: Any, index: Any, rows: int, padding_idx: int, by_frequency: bool) -> Any:
        if by_frequency or not index.size or not gradient.size:
            raise Declined
        size = gradient.shape[-1]
        out = np.empty((rows, size), gradient.dtype)
        return added(add, out, gradient, index, 1, rows, size, index.size, skipped=padding_idx, zeroed=True)

    return None if add is None else call


def bag_sum(types: Signature) -> Call | None:
    """The kernel of `bag_sum`."""
    add = add_at(types)

    def call(weight: Any, index: Any, bag: Any, factors: Any, bags: int, by_frequency: bool, spare: int) -> Any:
        if not index.size or not weight.size or index.dtype != np.int64:
            raise Declined
        size = weight.shape[1]
        out = np.empty((bags + spare, size), weight.dtype)
        chosen = (index,) if factors is None else (index, factors)
        sums = added(
            add,
            out,
            weight,
            bag,
            1,
            bags + spare,
            size,
            index.size,
            *chosen,
            skipped=bags if spare else -1,
            zeroed=True,
        )
        return sums[:bags]

    return None if add is None else call
