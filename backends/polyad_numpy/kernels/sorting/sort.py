"""Sorting, the largest elements, and the order of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...order import arranged
from ...quiet import quiet

PACKED, LINE = 1 << 12, 32
"""From how many elements, in lines of how many, `_order` sorts packed numbers."""


def _order(array: Any, dim: int, descending: bool) -> Any:
    """The places of a stable sort along *dim*; of a `comparable` array."""
    if array.size >= PACKED and LINE <= array.shape[dim] < 1 << 31 and array.dtype.kind in "biuf":
        lines = np.ascontiguousarray(np.moveaxis(array, dim, -1))
        order = _packed_order(lines, descending) if array.itemsize <= 4 else _wide_order(lines, descending)
        return np.moveaxis(order, -1, dim)
    if not descending:
        return np.argsort(array, axis=dim, kind="stable")
    # Sorting the reversed array and reversing the result keeps equal elements in their order and puts nan first.
    order = np.argsort(np.flip(array, dim), axis=dim, kind="stable")
    return np.subtract(array.shape[dim] - 1, np.flip(order, dim))


def _packed_order(lines: Any, descending: bool) -> Any:
    """`_order` of up to 32 bits along the last dimension: the value in the high half of an integer, its place in the
    low half. Sorting these is faster than sorting places by values, and stable whatever the algorithm.
    """
    if lines.dtype.kind == "f":
        # The bits of floats have the order of their magnitudes; adding 0 makes 0 of -0.
        bits = (lines.astype(np.float32, copy=False) + np.float32(0)).view(np.int32)
        ranks = bits >> np.int32(31)
        ranks &= np.int32(0x7FFFFFFF)
        ranks ^= bits
        missing = lines != lines
        if missing.any():
            ranks[missing] = 0x7FFFFFFF
        packed = ranks.astype(np.int64)
    else:
        packed = lines.astype(np.int64)
    return _sorted_places(packed, descending)


def _sorted_places(ranks: Any, descending: bool, places: Any = None) -> Any:
    """The *places* of *ranks* (int64 of 32 bits, overwritten) in the order of a stable sort; 0, 1, ... by default."""
    if descending:
        np.bitwise_not(ranks, ranks)
    ranks <<= 32
    ranks |= np.arange(ranks.shape[-1]) if places is None else places
    ranks.sort(axis=-1)
    ranks &= 0xFFFFFFFF
    return ranks


def _wide_order(lines: Any, descending: bool) -> Any:
    """`_order` of 64 bits along the last dimension: any sort, and a stable sort where it met equal elements."""
    if lines.dtype.kind == "i":
        least, most = int(lines.min()), int(lines.max())
        if most - least < 1 << 31:
            return _sorted_places(np.subtract(lines, least, dtype=np.int64), descending)
    order = np.argsort(lines, axis=-1)
    values = np.take_along_axis(lines, order, -1)
    later, earlier = values[..., 1:], values[..., :-1]
    differ = later != earlier
    if lines.dtype.kind == "f" and np.isnan(values[..., -1]).any():
        differ &= earlier == earlier  # nan comes last, and counts as equal to nan
    if not descending and differ.all():
        return order
    ranks = np.zeros(lines.shape, np.int64)
    np.cumsum(differ, axis=-1, out=ranks[..., 1:])
    return _sorted_places(ranks, descending, order)


def comparable(array: Any) -> Any:
    """The array, in float32 if it is bfloat16, whose comparisons are slow and whose sort puts nan anywhere."""
    return array.astype(np.float32) if array.dtype.isbuiltin != 1 else array


def _taken(array: Any, places: Any, dim: int) -> Any:
    """``np.take_along_axis``, by flat positions where lines are rows: several times faster."""
    rows = 1 < array.ndim == dim + 1 and array.size
    if not rows or not array.flags.c_contiguous or not places.flags.c_contiguous:
        return np.take_along_axis(array, places, dim)
    starts = np.arange(0, array.size, array.shape[dim]).reshape(*array.shape[:-1], 1)
    return array.reshape(-1).take(places + starts)


def sort(array: Any, dim: int, descending: bool) -> Any:
    indices = _order(comparable(array), dim, descending)
    values, indices = _taken(array, indices, dim), np.ascontiguousarray(indices)
    # PyTorch leaves the dimensions in memory in the order that the input's have.
    return (values, indices) if array.flags.c_contiguous else (arranged(values, array), arranged(indices, array))


def sorted_values(array: Any, dim: int, descending: bool) -> Any:
    values = np.sort(comparable(array), axis=dim)
    if descending:
        values = np.flip(values, dim)
    values = np.ascontiguousarray(values.astype(array.dtype, copy=False))
    return values if array.flags.c_contiguous else arranged(values, array)


def rows_along(array: Any, dim: int) -> Any:
    """A comparable, row-major matrix whose rows are the lines along *dim*."""
    moved = np.moveaxis(comparable(array), dim, -1)
    return np.ascontiguousarray(moved).reshape(-1, array.shape[dim])


def dimension_of(rows: Any, shape: tuple[int, ...], dim: int) -> Any:
    """The lines of a matrix as dimension *dim* of an array whose other sizes are those of *shape*; row-major."""
    others = (*shape[:dim], *shape[dim + 1 :])
    return np.ascontiguousarray(np.moveaxis(rows.reshape(*others, rows.shape[-1]), -1, dim))


FROM_PARTITION, PARTITIONED = 64, 1 << 11
"""From this many elements in a line, and in all, a partition is faster than a sort."""


def topk(array: Any, k: int, dim: int, largest: bool) -> Any:
    size = array.shape[dim]
    if k == 1 and size:
        known = comparable(array)
        # The smallest number, not nan: NumPy's argmin would name nan.
        if largest or known.dtype.kind != "f" or not np.isnan(known).any():
            indices = known.argmax(dim, keepdims=True) if largest else known.argmin(dim, keepdims=True)
            return np.take_along_axis(array, indices, dim), np.ascontiguousarray(indices)
    chosen = None
    if 0 < k <= size // 4 and size >= FROM_PARTITION and array.size >= PARTITIONED:
        chosen = _leading(rows_along(array, dim), k, largest)
    if chosen is None:
        order = _order(comparable(array), dim, largest)
        indices = np.ascontiguousarray(np.take(order, range(k), axis=dim))
    else:
        indices = dimension_of(chosen, array.shape, dim)
    return np.take_along_axis(array, indices, dim), indices


def _leading(rows: Any, k: int, largest: bool) -> Any:
    """Where the *k* extreme elements of each row are, in order, the first of equals; None if nan is the limit."""
    limit = rows.shape[1] - k if largest else k - 1
    value = np.partition(rows, limit, axis=1)[:, limit : limit + 1]
    if rows.dtype.kind == "f" and np.isnan(value).any():
        return None
    # Not "rows > value": nan is beyond every number.
    beyond = ~(rows <= value) if largest else rows < value
    same = rows == value
    wanted = k - np.count_nonzero(beyond, axis=1, keepdims=True)
    if (np.count_nonzero(same, axis=1, keepdims=True) != wanted).any():
        same &= np.cumsum(same, axis=1, dtype=np.int64) <= wanted
    positions = np.flatnonzero(beyond | same).reshape(-1, k)
    positions -= np.arange(rows.shape[0])[:, None] * rows.shape[1]
    found = np.take_along_axis(rows, positions, 1)
    return np.take_along_axis(positions, _order(found, 1, largest), 1)


def distinct(array: Any) -> Any:
    # Not NumPy's unique: its hash table takes 20 times a sort's time where most numbers differ.
    values = np.sort(comparable(array))
    new = np.ones(values.shape, bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new].astype(array.dtype, copy=False)


def lexsort(array: Any) -> Any:
    if not array.shape[1]:
        return np.arange(array.shape[0])
    return np.lexsort(comparable(array).T[::-1])


KERNELS = {
    "sort": Kernel(quiet(sort)),
    "sorted": Kernel(quiet(sorted_values)),
    "topk": Kernel(quiet(topk)),
    "distinct": Kernel(quiet(distinct)),
    "lexsort": Kernel(quiet(lexsort)),
}
