"""Elements at indices, and sums at indices."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...engine import Library

_LIBRARY = Library("kernels/indexing/gather_scatter")
_FOUR, _SEVEN = struct.Struct("4q").pack, struct.Struct("7q").pack


def add_at(types: Signature) -> Any:
    """The function for sums at indices, of a dtype that all floating operands have; else None."""
    return _LIBRARY.function_of("add_at", types)


def added(
    add: Any, out: Any, source: Any, index: Any, outer: int, rows: int, size: int, count: int, *, skipped: int = -1,
    zeroed: bool = False, each: bool = False,
) -> Any:  # fmt: skip
    """*out* with rows of *source* added at *index*, see ``add_at`` in the C file."""
    if index.dtype != np.int64 or not add(
        out,
        np.ascontiguousarray(source),
        np.ascontiguousarray(index),
        _SEVEN(outer, rows, size, count, skipped, zeroed, each),
    ):
        raise Declined
    return out


def gather(types: Signature) -> Call | None:
    """The kernel of `gather`."""
    run = _LIBRARY.function_of("gather", types)

    def call(array: Any, index: Any, dim: int) -> Any:
        shape, places = array.shape, index.shape
        if not index.size or not array.size or len(places) != len(shape) or index.dtype != np.int64:
            raise Declined
        if places[:dim] != shape[:dim] or places[dim + 1 :] != shape[dim + 1 :]:
            raise Declined
        out = np.empty(places, array.dtype)
        sizes = _FOUR(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]), places[dim])
        if not run(out, np.ascontiguousarray(array), np.ascontiguousarray(index), sizes):
            raise Declined
        return out

    return None if run is None else call


def scatter_add(types: Signature) -> Call | None:
    """The kernel of `scatter_add`."""
    add = add_at(types)

    def call(array: Any, index: Any, source: Any, dim: int) -> Any:
        shape, places = array.shape, index.shape
        if not index.size or source.shape != places or len(places) != len(shape):
            raise Declined
        if places[:dim] != shape[:dim] or places[dim + 1 :] != shape[dim + 1 :]:
            raise Declined
        outer, size = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        return added(add, array.copy(order="C"), source, index, outer, shape[dim], size, places[dim], each=True)

    return None if add is None else call
