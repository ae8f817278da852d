"""Normalisations."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates
from .convolution import convolution
from .reductions import reduced


@translates("batch_norm_by")
def batch_norm_by(to: Any, input: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Each channel by a given mean and variance; a convolution before it does that by its weight."""
    folded = _into_convolution(to, *to.node.args)
    if folded is not None:
        return folded
    channels = to.sizes_of(to.node.args[1])
    if weight is None:
        weight = to.constant(torch.ones(channels, dtype=to.graph.values[to.node.args[1].number].dtype), None)
    if bias is None:
        bias = to.constant(torch.zeros(channels, dtype=to.graph.values[to.node.args[1].number].dtype), None)
    return to.op("BatchNormalization", input, weight, bias, mean, var, epsilon=eps)


def _into_convolution(to: Any, input: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The convolution that gives *input*, scaled and shifted; None if another op does, or others use it too."""
    call = to.makers.get(input.number)
    if call is None or call.name != "convolution" or to.uses[input.number] != 1:
        return None
    source, kernel, offset, *params = call.args
    if not to.is_weight(kernel, offset, mean, var, weight, bias):
        return None
    held = (kernel, offset, mean, var, weight, bias)
    tensors: list[Any] = [None if ref is None else to.tensors[ref.number].detach() for ref in held]
    with torch.no_grad():
        scaled, shift = _normalizing_weights(eps, *[None if one is None else one.double() for one in tensors])
    dtype, name = tensors[0].dtype, to.graph.values[kernel.number].name.rpartition(".")[0]
    before, to.node, to.chain = to.node, call, call.modules
    try:
        new_weight = to.replaced_weight(kernel, scaled.to(dtype))
        if offset is None:
            new_bias = to.add_initializer(f"{name}.bias" if name else "bias", shift.to(dtype))
        else:
            new_bias = to.replaced_weight(offset, shift.to(dtype))
        return convolution(to, to.value(source), new_weight, new_bias, *params)
    finally:
        to.node, to.chain = before, before.modules


def _normalizing_weights(
    eps: float, kernel: Any, offset: Any, mean: Any, var: Any, weight: Any, bias: Any
) -> tuple[Any, Any]:
    """A convolution's weight and bias with what a normalisation does to each channel."""
    scale = (var + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if offset is None else (offset - mean) * scale
    if bias is not None:
        shift = shift + bias
    return kernel * scale.reshape(-1, *[1] * (kernel.dim() - 1)), shift


@translates(
    "layer_norm",
    when=lambda input, weight, bias, count, eps: weight is None and bias is None and count == 1
    and len(input.shape) == 2 and input.dtype in (torch.float32, torch.float16),
)  # fmt: skip
def rows_norm(to: Any, input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
    """Rows by their own mean and variance, as images of one channel: what group and instance normalisation come to."""
    dtype = to.result.dtype
    image = to.op("Unsqueeze", input, to.ints(1))
    ones, zeros = to.constant([1], dtype), to.constant([0], dtype)
    out = to.op("Squeeze", to.op("InstanceNormalization", image, ones, zeros, epsilon=eps), to.ints(1))
    return out, *_statistics(to, input, (1,))


@translates("layer_norm", since=17, when=lambda input, weight, bias, count, eps: bool(count) and weight is not None)
def layer_norm(to: Any, input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
    """The last dimensions by their own mean and variance, scaled and shifted."""
    rank = len(input.shape)
    out = to.op("LayerNormalization", input, weight, bias, axis=-count, epsilon=eps)
    return out, *_statistics(to, input, tuple(range(rank - count, rank)))


def _statistics(to: Any, input: Any, dims: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and variance, for whoever wants them."""
    mean = reduced(to, "ReduceMean", input, dims, True)
    centred = to.op("Sub", input, mean)
    return mean, reduced(to, "ReduceMean", to.op("Mul", centred, centred), dims, True)
