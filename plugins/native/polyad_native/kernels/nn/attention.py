"""Attention and its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature
from polyad.base.dtypes import float32, float64
from polyad.base.shapes_and_strides import broadcast_shapes
from polyad.errors import ShapeError

from ...choosing import Call
from ...engine import HALVES, SOONER, Library

ATTENTION = Library("kernels/nn/attention", (float32, float64, *HALVES), flags=SOONER)


def _accumulated(dtype: Any) -> Any:
    """The dtype that is computed in."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def _operands(query: Any, key: Any, value: Any, mask: Any, broadcast: bool) -> tuple[Any, ...]:
    """The operands with as many dimensions, elements of a row side by side; the mask as what is added, in the dtype
    that is computed in. The query has the sizes of all batches, and if *broadcast* so have key and value.
    """
    if (
        mask is None
        and query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
        and query.size
        and key.shape[-2:] == value.shape[-2:]
        and key.size
        and query.shape[-1] == key.shape[-1]
        and _has_rows(query)
        and _has_rows(key)
        and _has_rows(value)
    ):
        return query, key, value, None  # as most calls have them
    if min(query.ndim, key.ndim, value.ndim) < 2 or not (query.size and key.size and value.size):
        raise Declined
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise Declined
    lead, *others = (array.shape[:-2] for array in (query, key, value))
    if not lead == others[0] == others[1]:
        try:
            lead = broadcast_shapes(lead, *others)
        except ShapeError:
            raise Declined from None
    found = []
    for array in (query, key, value):
        rows = _rows(array)
        fits = rows.shape[:-2] == lead or (not broadcast and array is not query and rows.ndim == len(lead) + 2)
        found.append(rows if fits else np.broadcast_to(rows, lead + rows.shape[-2:]))
    if mask is not None:
        accumulated = _accumulated(query.dtype)
        if mask.dtype == bool:
            mask = np.where(mask, accumulated.type(0), accumulated.type(-np.inf))
        try:
            mask = np.broadcast_to(mask.astype(accumulated, copy=False), (*lead, query.shape[-2], key.shape[-2]))
        except ValueError:
            raise Declined from None
    return (*found, mask)


def _has_rows(array: Any) -> bool:
    """Whether elements of a row lie side by side, and rows apart by whole elements."""
    size = array.itemsize
    strides = array.strides
    return len(strides) > 1 and strides[-1] == size and not strides[-2] % size


def _rows(array: Any) -> Any:
    """*array* with elements of a row side by side, and rows apart by whole elements."""
    return array if _has_rows(array) else array.copy()


def _laid_as(array: Any) -> Any:
    """New memory for an array of this shape, in the same order if elements of a row are then side by side.

    So gradients of heads that are parts of a matrix's rows need not be copied to become such parts.
    """
    new = np.empty_like(array, _accumulated(array.dtype))
    return new if new.strides[-1] == new.itemsize else np.empty(array.shape, new.dtype)


def attention(types: Signature) -> Call | None:
    """The kernel of `attention`."""
    attend = ATTENTION.function("attend", types[0].dtype)

    def call(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
        q, k, v, added = _operands(query, key, value, mask, broadcast=False)
        out = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
        sums = np.empty(q.shape[:-1], _accumulated(q.dtype))
        attend(q, k, v, added, int(causal), float(scale), out, sums)
        return out, sums

    return None if attend is None else call


def attention_backward(types: Signature) -> Call | None:
    """The kernel of `attention_backward`."""
    attend = ATTENTION.function("attend_backward", types[0].dtype)

    def call(
        grad: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, sums: Any, causal: bool, scale: float
    ) -> Any:
        q, k, v, added = _operands(query, key, value, mask, broadcast=True)
        if grad.shape != (*q.shape[:-1], v.shape[-1]) or math.prod(sums.shape) != math.prod(q.shape[:-1]):
            raise Declined
        results = [_laid_as(operand) for operand in (q, k, v)]
        attend(q, k, v, added, int(causal), float(scale), _rows(grad), np.ascontiguousarray(sums), *results)
        return tuple(result.astype(operand.dtype, copy=False) for result, operand in zip(results, (query, key, value)))

    return None if attend is None else call
