"""Sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def _order(array: Any, dim: int, descending: bool) -> Any:
    if not descending:
        return np.argsort(array, axis=dim, kind="stable")
    # Sorting the reversed array and reversing the result keeps equal elements in their order and puts nan first.
    order = np.argsort(np.flip(array, dim), axis=dim, kind="stable")
    return np.subtract(array.shape[dim] - 1, np.flip(order, dim))


def _comparable(array: Any) -> Any:
    return array.astype(np.float32) if array.dtype.isbuiltin != 1 else array


def sort(array: Any, dim: int, descending: bool) -> Any:
    indices = _order(_comparable(array), dim, descending)
    return np.take_along_axis(array, indices, dim), np.ascontiguousarray(indices)


def topk(array: Any, k: int, dim: int, largest: bool) -> Any:
    comparable = _comparable(array)
    if k == 1 and largest and array.shape[dim]:
        indices = comparable.argmax(dim, keepdims=True)
    else:
        order = _order(comparable, dim, largest)
        indices = np.ascontiguousarray(np.take(order, range(k), axis=dim))
    return np.take_along_axis(array, indices, dim), indices


KERNELS = {
    "sort": Kernel(sort),
    "topk": Kernel(topk),
}
