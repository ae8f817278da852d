"""The elements at a rank.

A rank is found by partition, which is many times faster than sorting; which of several equal elements stands there in
a stable sort follows from counting.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet
from ..sorting.sort import FROM_PARTITION, comparable, dimension_of, rows_along


def _nth(rows: Any, ranks: Any) -> Any:
    """Where the element of each row is that a stable sort puts at *ranks* (a number, or a column of numbers)."""
    size = rows.shape[1]
    column = isinstance(ranks, np.ndarray)
    if size < FROM_PARTITION:
        order = np.argsort(rows, axis=1, kind="stable")
        return np.take_along_axis(order, ranks, 1) if column else order[:, ranks : ranks + 1]
    if column:
        values = np.take_along_axis(np.partition(rows, np.unique(ranks), axis=1), ranks, 1)
    else:
        values = np.partition(rows, ranks, axis=1)[:, ranks : ranks + 1]
    same = rows == values
    found = same.argmax(axis=1, keepdims=True)
    # Where several are equal, or nan, they have to be counted.
    rest = np.flatnonzero(np.count_nonzero(same, axis=1) != 1)
    if rest.size:
        found[rest] = _nth_of_equals(rows[rest], values[rest], ranks[rest] if column else ranks)
    return found


def _nth_of_equals(rows: Any, values: Any, ranks: Any) -> Any:
    """Where the element of each row is that a stable sort puts at *ranks*, which has the value *values*."""
    same = rows == values
    if rows.dtype.kind == "f":
        # nan is the largest: all numbers are less than it.
        missing = rows != rows
        beyond = values != values
        less = np.where(beyond, ~missing, rows < values)
        same |= missing & beyond
    else:
        less = rows < values
    before = np.count_nonzero(less, axis=1, keepdims=True)
    # The element looked for is the (rank - before)th of those that are equal, counted from 0.
    counts = np.cumsum(same, axis=1, dtype=np.int64)
    return (counts > ranks - before).argmax(axis=1, keepdims=True)


def _picked(array: Any, positions: Any, dim: int, keepdim: bool) -> Any:
    indices = dimension_of(positions, array.shape, dim)
    values = np.take_along_axis(array, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def kthvalue(array: Any, k: int, dim: int, keepdim: bool) -> Any:
    return _picked(array, _nth(rows_along(array, dim), k - 1), dim, keepdim)


def median_dim(array: Any, dim: int, keepdim: bool) -> Any:
    rows = rows_along(array, dim)
    middle = (rows.shape[1] - 1) // 2
    positions = _nth(rows, middle)
    if rows.dtype.kind == "f":
        # A sum that is a number has no nan in it.
        suspects = np.flatnonzero(np.isnan(np.add.reduce(rows, 1)))
        missing = rows[suspects] != rows[suspects]
        positions[suspects] = np.where(
            missing.any(1, keepdims=True), missing.argmax(1, keepdims=True), positions[suspects]
        )
    return _picked(array, positions, dim, keepdim)


def nanmedian_dim(array: Any, dim: int, keepdim: bool) -> Any:
    rows = rows_along(array, dim)
    numbers = np.count_nonzero(rows == rows, axis=1, keepdims=True)
    return _picked(array, _nth(rows, np.maximum(numbers - 1, 0) // 2), dim, keepdim)


def median(array: Any) -> Any:
    flat = comparable(array).ravel()
    middle = (flat.size - 1) // 2
    value = flat[np.isnan(flat).argmax()] if flat.dtype.kind == "f" and np.isnan(flat).any() else None
    return np.asarray(np.partition(flat, middle)[middle] if value is None else value, array.dtype)


def nanmedian(array: Any) -> Any:
    flat = comparable(array).ravel()
    numbers = flat[flat == flat]
    middle = (numbers.size - 1) // 2
    return np.asarray(np.partition(numbers, middle)[middle] if numbers.size else flat[0], array.dtype)


KERNELS = {
    "kthvalue": Kernel(quiet(kthvalue)),
    "median": Kernel(quiet(median)),
    "nanmedian": Kernel(quiet(nanmedian)),
    "median_dim": Kernel(quiet(median_dim)),
    "nanmedian_dim": Kernel(quiet(nanmedian_dim)),
}
