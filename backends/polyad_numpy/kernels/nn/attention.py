"""Attention a block of scores at a time: some heads, or some queries of a single head.

What is held at once is the block's scores, not those of all heads. Forward it keeps the logarithm of each row's sum;
backward it makes the weights again from that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...half_types import half_to_float32
from ...workers import spread

_BLOCK = 1 << 18
"""How many scores a block has, unless a single query has more."""


class _Heads:
    """The operands as (heads, positions, features), and the walk over blocks."""

    def __init__(self, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> None:
        lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        self.lead, self.count = lead, math.prod(lead)
        self.query, self.key, self.value = (self.flat(half_to_float32(array)) for array in (query, key, value))
        self.rows, self.columns = query.shape[-2], key.shape[-2]
        self.causal = causal
        self.scale = np.asarray(scale, self.query.dtype)
        self.mask = None
        if mask is not None:
            if mask.dtype == bool:
                mask = np.where(mask, self.query.dtype.type(0), self.query.dtype.type(-np.inf))
            shape = (self.rows, self.columns)
            mask = half_to_float32(mask)
            # A mask for all heads is not repeated.
            whole = math.prod(mask.shape[:-2]) == 1
            self.mask = np.broadcast_to(
                mask.reshape(mask.shape[-2:]) if whole else mask, shape if whole else lead + shape
            )

    def flat(self, array: Any) -> Any:
        return np.broadcast_to(array, self.lead + array.shape[-2:]).reshape(self.count, *array.shape[-2:])

    def whole(self, array: Any, dtype: Any) -> Any:
        return array.astype(dtype, copy=False).reshape(*self.lead, *array.shape[1:])

    def blocks(self, first: int, end: int) -> Any:
        """(heads, queries) slices of at most `_BLOCK` scores, queries of a head in order."""
        row = max(self.columns, 1)
        heads = max(_BLOCK // (row * max(self.rows, 1)), 1)
        rows = self.rows if heads > 1 else max(_BLOCK // row, 1)
        for head in range(first, end, heads):
            for start in range(0, self.rows, max(rows, 1)):
                yield slice(head, min(head + heads, end)), slice(start, min(start + rows, self.rows))

    def scores(self, heads: slice, rows: slice) -> tuple[Any, int]:
        """The scores of a block, and of how many keys: causal queries see none beyond their own place."""
        columns = min(self.columns, rows.stop) if self.causal else self.columns
        scores = np.matmul(self.query[heads, rows] * self.scale, self.key[heads, :columns].swapaxes(1, 2))
        if self.mask is not None:
            if self.mask.ndim == 2:
                scores += self.mask[rows]
            else:
                for place, head in enumerate(range(heads.start, heads.stop)):
                    scores[place] += self.mask[np.unravel_index(head, self.lead)][rows]
        if self.causal:
            later = np.arange(columns) > np.arange(rows.start, rows.stop)[:, None]
            np.copyto(scores, -np.inf, where=later)
        return scores, columns

    @property
    def cost(self) -> int:
        return self.count * self.rows * self.columns * 16


def attention(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    heads = _Heads(query, key, value, mask, causal, scale)
    out = np.empty((heads.count, heads.rows, value.shape[-1]), heads.query.dtype)
    sums = np.empty((heads.count, heads.rows), out.dtype)
    if not heads.columns:
        out[...], sums[...] = 0, np.inf
        return heads.whole(out, query.dtype), sums.reshape(*heads.lead, heads.rows)

    def work(first: int, end: int) -> None:
        for here, rows in heads.blocks(first, end):
            scores, columns = heads.scores(here, rows)
            top = np.maximum.reduce(scores, axis=2, keepdims=True)
            top[top == -np.inf] = 0
            scores -= top
            np.exp(scores, out=scores)
            total = np.add.reduce(scores, axis=2, keepdims=True)
            none = total == 0
            total[none] = 1
            part = np.matmul(scores, heads.value[here, :columns])
            np.divide(part, total, out=out[here, rows])
            logarithms = np.log(total, out=total)
            logarithms += top
            logarithms[none] = np.inf
            sums[here, rows] = logarithms[:, :, 0]

    spread(work, heads.count, cost=heads.cost)
    return heads.whole(out, query.dtype), sums.reshape(*heads.lead, heads.rows)


def attention_backward(
    grad: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, sums: Any, causal: bool, scale: float
) -> tuple[Any, Any, Any]:
    heads = _Heads(query, key, value, mask, causal, scale)
    arriving, sums = heads.flat(half_to_float32(grad)), sums.reshape(heads.count, heads.rows)
    of_query, of_key, of_value = (
        np.zeros(operand.shape, operand.dtype) for operand in (heads.query, heads.key, heads.value)
    )

    def work(first: int, end: int) -> None:
        for here, rows in heads.blocks(first, end):
            weights, columns = heads.scores(here, rows)
            weights -= sums[here, rows, None]
            np.exp(weights, out=weights)
            gradient = arriving[here, rows]
            of_value[here, :columns] += np.matmul(weights.swapaxes(1, 2), gradient)
            of_scores = np.matmul(gradient, heads.value[here, :columns].swapaxes(1, 2))
            of_scores -= np.einsum("hls,hls->hl", of_scores, weights)[:, :, None]
            of_scores *= weights
            of_scores *= heads.scale
            of_query[here, rows] = np.matmul(of_scores, heads.key[here, :columns])
            of_key[here, :columns] += np.matmul(of_scores.swapaxes(1, 2), heads.query[here, rows])

    if heads.columns:
        spread(work, heads.count, cost=2 * heads.cost)
    return heads.whole(of_query, query.dtype), heads.whole(of_key, key.dtype), heads.whole(of_value, value.dtype)


KERNELS = {"attention": Kernel(attention), "attention_backward": Kernel(attention_backward)}
