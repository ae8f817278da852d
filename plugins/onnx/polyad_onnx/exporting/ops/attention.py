"""Attention."""

from __future__ import annotations

import math
from typing import Any

import polyad as torch

from ..registry import translates


@translates("attention", when=lambda query, key, value, mask, is_causal, scale: len(key.shape) > 1)
def attention(
    to: Any, query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: Any
) -> tuple[Any, Any]:
    """Averages of values by the softmax of how queries and keys agree; not the sums, which only a backward pass asks
    for. A query that may attend to no key gets 0.
    """
    dtype, rank = to.result.dtype, len(key.shape)
    turned = to.op("Transpose", key, perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = to.op("MatMul", to.op("Mul", query, to.number(scale, dtype)), turned)
    nothing = to.constant(-math.inf, dtype)
    if attn_mask is not None:
        if to.graph.values[to.node.args[3].number].dtype is torch.bool:
            scores = to.op("Where", attn_mask, scores, nothing, dtype=dtype)
        else:
            scores = to.op("Add", scores, to.cast(attn_mask, dtype))
    if is_causal:
        sizes = [to.sizes_of(to.node.args[0])[-2], to.sizes_of(to.node.args[1])[-2]]
        ones = to.op("Expand", to.constant(1.0, torch.float32), to.sizes(sizes))
        earlier = to.cast(to.op("Trilu", ones, upper=0), torch.bool)
        scores = to.op("Where", earlier, scores, nothing, dtype=dtype)
    weights = to.op("Softmax", scores, axis=-1)
    if attn_mask is not None:
        weights = to.op("Where", to.op("IsNaN", weights), to.constant(0, dtype), weights, dtype=dtype)
    return to.op("MatMul", weights, value), None
