"""Sums of rows at indices."""

from __future__ import annotations

import math
from typing import Any

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from .gather_scatter import add_at, added


def index_add(types: Signature) -> Call | None:
    """The kernel of `index_add`."""
    add = add_at(types)

    def call(array: Any, index: Any, source: Any, dim: int) -> Any:
        shape = array.shape
        if index.ndim != 1 or not source.size or source.shape != (*shape[:dim], index.size, *shape[dim + 1 :]):
            raise Declined
        outer, size = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        return added(add, array.copy(order="C"), source, index, outer, shape[dim], size, index.size)

    return None if add is None else call
