"""Weighted sums of a few rows as products with a sparse matrix, which SciPy adds up without temporaries.

Integers that are taken for places must be in range: the caller checks that. SciPy is loaded by the first product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature

_INT32_MAX = 2**31 - 1

_COLUMNS = 128
"""How many rows of a matrix are turned around at a time to be multiplied from the left."""


def matrix(weights: Any, places: Any, columns: int) -> Any:
    """The matrix whose row i holds weights[i, k] in column places[i, k]; equal places add up."""
    from scipy.sparse import csr_array

    rows, taps = places.shape
    small = max(rows * taps, columns) <= _INT32_MAX
    place_dtype = np.int32 if small else np.int64
    starts = np.arange(0, rows * taps + 1, max(taps, 1), dtype=place_dtype)[: rows + 1]
    return csr_array((weights.ravel(), places.astype(place_dtype).ravel(), starts), shape=(rows, columns))


def along(sparse: Any, array: Any, dim: int) -> Any:
    """The product of a sparse matrix with every vector of *array* along *dim*."""
    rows = sparse.shape[0]
    shape = array.shape
    out = np.empty((*shape[:dim], rows, *shape[dim + 1 :]), array.dtype)
    if not out.size:
        return out
    inner = int(np.prod(shape[dim + 1 :]))
    whole = np.ascontiguousarray(array).reshape(-1, shape[dim], inner)
    into = out.reshape(-1, rows, inner)
    if inner >= _COLUMNS // 4:
        for target, part in zip(into, whole, strict=True):
            target[...] = sparse @ part
        return out
    # Short rows of columns: turned around, several at a time.
    block = max(1, _COLUMNS // inner)
    for first in range(0, len(whole), block):
        part = whole[first : first + block].transpose(1, 0, 2)
        product = sparse @ part.reshape(shape[dim], -1)
        into[first : first + block] = product.reshape(rows, -1, inner).transpose(1, 0, 2)
    return out


def only_single_and_double(function: Callable[..., Any]) -> Kernel:
    """The kernel that *function* is, for float32 and float64; other dtypes are decomposed."""

    def specialize(types: Signature) -> Callable[..., Any] | None:
        first = next(entry for entry in types if isinstance(entry, TensorType))
        return function if first.dtype.name in ("float32", "float64") else None

    return Kernel(function, specialize=specialize)
