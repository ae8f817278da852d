"""Batching rules of ops on images (N, C, *spatial): the batch becomes more images, or more groups of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dispatch.op import Op
from ...ops.shaping.reshape import _reshape
from ...tensor import Tensor
from .batched import Batched
from .rules import Rule, decomposed, fold, folded, unfold

if TYPE_CHECKING:
    from .vmap_level import VmapLevel


def channels(level: VmapLevel, value: Batched) -> Tensor:
    """The images (N, C, ...) of all samples side by side as channels: (N, B * C, ...)."""
    inner = level.spread(value).transpose(0, 1)
    count, samples, size, *rest = inner._array.shape
    return _reshape(inner, (count, samples * size, *rest))


def apart(level: VmapLevel, result: Tensor) -> Tensor:
    """The channels (N, B * C, ...) of a result as samples again: (B, N, C, ...)."""
    count, size, *rest = result._array.shape
    size = size // level.size if level.size else 0
    return _reshape(result, (count, level.size, size, *rest)).transpose(0, 1)


def _convolution(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    """With one kernel for all samples, more images; with a kernel for each, a group of channels for each sample."""
    input, weight, bias, *settings = values
    if bias is not None and bias._batched:
        with level:
            result = op.call(input, weight, None, *settings)
            result = result + bias.reshape(-1, *[1] * (result.ndim - 2))
        return level.spread(result)
    shared = None if bias is None else bias._inner
    if not weight._batched:
        return unfold(level, op.call(fold(input._inner), weight._inner, shared, *settings))
    if shared is not None:
        shared = shared.repeat(level.size)
    *settings, groups = settings
    result = op.call(channels(level, input), fold(weight._inner), shared, *settings, groups * level.size)
    return apart(level, result)


def _weight_grad(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    grad, input, *settings, groups = values
    result = op.call(channels(level, grad), channels(level, input), *settings, groups * level.size)
    return unfold(level, result)


def _resample(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """Weights and places are those of one line, the same for all."""
    first, weights, places, *params, dim = values
    if weights._batched or places._batched:
        return decomposed(level, op, values)
    return op.call(first._inner, weights._inner, places._inner, *params, dim + 1)


def _pad(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    input, pads, value = values
    return op.call(input._inner, (0, 0, *pads), value)


IMAGES: dict[str, Rule] = {
    "convolution": _convolution,
    "convolution_transposed": _convolution,
    "convolution_weight_grad": _weight_grad,
    **dict.fromkeys(
        (
            "avg_pool", "avg_pool_backward", "max_pool_with_indices", "max_pool", "max_pool_backward",
            "adaptive_max_pool", "fractional_max_pool", "im2col", "col2im",
        ),
        folded,
    ),
    "resample": _resample,
    "resample_backward": _resample,
    "pad_constant": _pad,
}  # fmt: skip
