"""Elements at indices, and sums at indices."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature, TensorType
from polyad.base.dtypes import float32, float64

from ...choosing import Call
from ...engine import Library

_LIBRARY = Library("kernels/indexing/gather_scatter")
_MOVING = {4: float32, 8: float64}
"""Whose elements may stand for others of so many bytes, where they are only moved."""
_INSIDE = 1 << 31
"""Numbers below it are in the range of all dtypes of these sizes."""


def add_at(types: Signature) -> Any:
    """The function for sums at indices, of a dtype that all floating operands have; else None."""
    return _LIBRARY.function_of("add_at", types)


def _pack_sizes(*sizes: int) -> bytes:
    return struct.pack(f"{len(sizes)}q", *sizes)


def added(
    add: Any, out: Any, source: Any, index: Any, outer: int, rows: int, size: int, count: int, *chosen: Any,
    skipped: int = -1, zeroed: bool = False, each: bool = False,
) -> Any:  # fmt: skip
    """*out* with rows of *source* added at *index*, see ``add_at`` in the C file. *chosen*: its ``from`` and
    ``factors``, where source is a matrix of which they choose rows.
    """
    sizes = _pack_sizes(outer, rows, size, count, skipped, zeroed, each, len(source) if source.ndim else 0)
    if index.dtype != np.int64 or not add(
        out, np.ascontiguousarray(source), np.ascontiguousarray(index), sizes, *map(np.ascontiguousarray, chosen)
    ):
        raise Declined
    return out


def _indexed_sizes(array: Any, index: Any, dim: int) -> tuple[int, int, int, int]:
    """The outer size, rows, inner size and count of an *index* that has a place for each of the other dimensions."""
    shape, places = array.shape, index.shape
    if not index.size or not array.size or len(places) != len(shape) or index.dtype != np.int64:
        raise Declined
    if places[:dim] != shape[:dim] or places[dim + 1 :] != shape[dim + 1 :]:
        raise Declined
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]), places[dim]


def _moving_function(name: str, types: Signature) -> Any:
    """The function *name* for elements of the first operand's size; None if there is none."""
    assert isinstance(types[0], TensorType)
    dtype = _MOVING.get(types[0].dtype.itemsize)
    return dtype and _LIBRARY.function(name, dtype)


def gather(types: Signature) -> Call | None:
    """The kernel of `gather`."""
    run = _moving_function("gather", types)

    def call(array: Any, index: Any, dim: int) -> Any:
        sizes = _pack_sizes(*_indexed_sizes(array, index, dim))
        out = np.empty(index.shape, array.dtype)
        if not run(out, np.ascontiguousarray(array), np.ascontiguousarray(index), sizes):
            raise Declined
        return out

    return None if run is None else call


def scatter(types: Signature) -> Call | None:
    """The kernel of `scatter`."""
    run = _moving_function("scatter", types)

    def call(array: Any, index: Any, source: Any, dim: int) -> Any:
        sizes = _indexed_sizes(array, index, dim)
        if not isinstance(source, np.ndarray):
            if not -_INSIDE <= source < _INSIDE:
                raise Declined
            source = np.full((), source, array.dtype)
        if source.dtype != array.dtype or source.shape not in (index.shape, ()):
            raise Declined
        out = array.copy(order="C")
        index = np.ascontiguousarray(index)
        if not run(out, np.ascontiguousarray(source), index, _pack_sizes(*sizes, source.shape == ())):
            raise Declined
        return out

    return None if run is None else call


def scatter_add(types: Signature) -> Call | None:
    """The kernel of `scatter_add`."""
    add = add_at(types)

    def call(array: Any, index: Any, source: Any, dim: int) -> Any:
        sizes = _indexed_sizes(array, index, dim)
        if source.shape != index.shape:
            raise Declined
        return added(add, array.copy(order="C"), source, index, *sizes, each=True)

    return None if add is None else call
