"""Normalisations."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates
from .reductions import reduced


@translates("batch_norm_by")
def batch_norm_by(to: Any, input: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Each channel by a given mean and variance."""
    channels = to.shape(to.node.args[1])
    if weight is None:
        weight = to.constant(torch.ones(channels, dtype=to.graph.values[to.node.args[1].number].dtype), None)
    if bias is None:
        bias = to.constant(torch.zeros(channels, dtype=to.graph.values[to.node.args[1].number].dtype), None)
    return to.op("BatchNormalization", input, weight, bias, mean, var, epsilon=eps)


@translates("layer_norm", since=17, when=lambda input, weight, bias, count, eps: bool(count))
def layer_norm(to: Any, input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
    """The last dimensions by their own mean and variance; whoever wants these gets them computed beside it."""
    shape, dtype = to.shape(to.node.args[0])[-count:], to.result.dtype
    if weight is None:
        weight = to.constant(torch.ones(shape, dtype=dtype), None)
    out = to.op("LayerNormalization", input, weight, bias, axis=-count, epsilon=eps)
    rank = len(input.shape)
    dims = tuple(range(rank - count, rank))
    mean = reduced(to, "ReduceMean", input, dims, True)
    centred = to.op("Sub", input, mean)
    return out, mean, reduced(to, "ReduceMean", to.op("Mul", centred, centred), dims, True)
