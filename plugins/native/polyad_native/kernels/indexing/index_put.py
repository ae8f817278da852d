"""Sums at the indices of a subscript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from .gather_scatter import add_at, added


def index_put(types: Signature) -> Call | None:
    """The kernel of `index_put`, for what is added at rows."""
    add = add_at(types)

    def call(array: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
        if not accumulate or len(indices) != 1 or indices[0].dtype != np.int64 or not array.size:
            raise Declined
        (index,), shape = indices, array.shape
        if not index.size or not isinstance(values, np.ndarray) or values.shape != index.shape + shape[1:]:
            raise Declined
        if index.min() < 0:
            index = np.where(index < 0, index + shape[0], index)
        out = array.copy(order="C")
        return added(add, out, values, index, 1, shape[0], out.size // shape[0], index.size)

    return None if add is None else call
