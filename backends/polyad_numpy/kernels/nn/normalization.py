"""Normalisation in few passes over memory.

Batch normalisation works on (images, channels, positions), several channels at a time in each thread; layer
normalisation on (rows, features).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...half_types import half_to_float32, narrow
from ...quiet import thread
from ...workers import spread

_PARTS = 8
"""Into how many parts sums are split: a fixed number, so that rounding does not depend on the number of threads."""


def _planes(x: Any) -> Any:
    """(images, channels, all else together), in float32 at least; (images, channels) if there is nothing else."""
    positions = math.prod(x.shape[2:])
    return half_to_float32(x.reshape(x.shape[:2] if positions == 1 else (*x.shape[:2], positions)))


def _channels(planes: Any) -> tuple[Any, str, Any]:
    """Of `_planes`: the axes that are no channels, the sum over them in einsum's letters, the subscript that makes a
    vector of channels broadcast.
    """
    return (0, "nk,nk->k", slice(None)) if planes.ndim == 2 else ((0, 2), "nkl,nkl->k", (slice(None), None))


def batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    planes = _planes(x)
    count, channels = planes.size // max(planes.shape[1], 1), planes.shape[1]
    axes, summed, each = _channels(planes)
    out = np.empty(planes.shape, planes.dtype)
    mean, variance = np.empty(channels, planes.dtype), np.empty(channels, planes.dtype)

    def work(first: int, end: int) -> None:
        here = slice(first, end)
        values, centred = planes[:, here], out[:, here]
        average = np.add.reduce(values, axis=axes) / count
        np.subtract(values, average[each], out=centred)
        spreads = np.einsum(summed, centred, centred) / count
        mean[here], variance[here] = average, spreads
        scale = 1 / np.sqrt(spreads + eps)
        if weight is not None:
            scale = scale * weight[here]
        centred *= scale.astype(out.dtype, copy=False)[each]
        if bias is not None:
            centred += bias[here].astype(out.dtype, copy=False)[each]

    spread(work, channels, _PARTS if planes.ndim == 3 else 1, 2 * x.size)  # parts of rows take longer than rows
    return narrow(out, x.dtype).reshape(x.shape), mean, variance


def batch_norm_backward(g: Any, x: Any, weight: Any, mean: Any, variance: Any, eps: float) -> tuple[Any, Any, Any]:
    planes, arriving = _planes(x), _planes(g)
    count, channels = planes.size // max(planes.shape[1], 1), planes.shape[1]
    axes, summed, each = _channels(planes)
    out = np.empty(planes.shape, planes.dtype)
    of_weight, of_bias = np.empty(channels, planes.dtype), np.empty(channels, planes.dtype)

    def work(first: int, end: int) -> None:
        here = slice(first, end)
        gradient, centred = arriving[:, here], out[:, here]
        inverse = 1 / np.sqrt(variance[here] + eps)
        np.subtract(planes[:, here], mean[here][each], out=centred)
        total = np.add.reduce(gradient, axis=axes)
        along = np.einsum(summed, gradient, centred) * inverse
        of_weight[here], of_bias[here] = along, total
        scale = inverse if weight is None else inverse * weight[here]
        scale = scale.astype(out.dtype, copy=False)
        # scale * (gradient - total / count - centred * inverse * along / count)
        centred *= (-scale * inverse * along / count)[each]
        centred -= (scale * total / count)[each]
        centred += gradient * scale[each]

    spread(work, channels, _PARTS if planes.ndim == 3 else 1, 2 * x.size)  # parts of rows take longer than rows
    dtype = mean.dtype if weight is None else weight.dtype
    return (
        narrow(out, x.dtype).reshape(x.shape),
        of_weight.astype(dtype, copy=False),
        of_bias.astype(dtype, copy=False),
    )


def _scale_and_shift(mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any]:
    scale = 1 / np.sqrt(half_to_float32(variance) + eps)
    if weight is not None:
        scale = scale * half_to_float32(weight)
    return scale, -half_to_float32(mean) * scale if bias is None else half_to_float32(bias) - half_to_float32(
        mean
    ) * scale


def batch_norm_by(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    planes = _planes(x)
    out = np.empty(planes.shape, planes.dtype)
    scale, shift = thread.run(_scale_and_shift, mean, variance, weight, bias, eps)
    each = _channels(planes)[2]
    scale, shift = scale.astype(out.dtype, copy=False)[each], shift.astype(out.dtype, copy=False)[each]

    def work(first: int, end: int) -> None:
        part = out[first:end]
        np.multiply(planes[first:end], scale, out=part)
        part += shift

    spread(work, len(planes), cost=x.size)
    return narrow(out, x.dtype).reshape(x.shape)


def layer_norm(x: Any, weight: Any, bias: Any, count: int, eps: float) -> tuple[Any, Any, Any]:
    shape = x.shape[: x.ndim - count] + (1,) * count
    features = math.prod(x.shape[x.ndim - count :])
    rows = half_to_float32(x.reshape(math.prod(shape), features))
    out = np.empty(rows.shape, rows.dtype)
    mean, variance = np.empty((len(rows), 1), rows.dtype), np.empty((len(rows), 1), rows.dtype)

    def work(first: int, end: int) -> None:
        centred, average, spreads = out[first:end], mean[first:end], variance[first:end]
        np.add.reduce(rows[first:end], axis=1, keepdims=True, out=average)
        average /= features
        np.subtract(rows[first:end], average, out=centred)
        np.einsum("ij,ij->i", centred, centred, out=spreads[:, 0])
        spreads /= features
        centred /= np.sqrt(spreads + np.asarray(eps, out.dtype))
        if weight is not None:
            centred *= half_to_float32(weight).reshape(-1)
        if bias is not None:
            centred += half_to_float32(bias).reshape(-1)

    spread(work, len(rows), cost=2 * x.size)
    return narrow(out, x.dtype).reshape(x.shape), mean.reshape(shape), variance.reshape(shape)


def layer_norm_backward(
    g: Any, x: Any, weight: Any, mean: Any, variance: Any, count: int, eps: float
) -> tuple[Any, Any, Any]:
    shape = x.shape[x.ndim - count :]
    features = math.prod(shape)
    rows, arriving = half_to_float32(x.reshape(mean.size, features)), half_to_float32(g.reshape(mean.size, features))
    inverse = 1 / np.sqrt(variance.reshape(-1, 1) + np.asarray(eps, rows.dtype))
    out = np.empty(rows.shape, rows.dtype)
    factor = None if weight is None else half_to_float32(weight).reshape(-1)

    def work(first: int, end: int) -> tuple[Any, Any]:
        normalized, gradient, scale = out[first:end], arriving[first:end], inverse[first:end]
        np.subtract(rows[first:end], mean.reshape(-1, 1)[first:end], out=normalized)
        normalized *= scale
        of_bias = np.add.reduce(gradient, axis=0)
        of_weight = np.einsum("ij,ij->j", gradient, normalized)
        scaled = gradient if factor is None else gradient * factor
        average = np.add.reduce(scaled, axis=1, keepdims=True) / features
        along = np.einsum("ij,ij->i", scaled, normalized)[:, None] / features
        normalized *= -along
        normalized -= average
        normalized += scaled
        normalized *= scale
        return of_weight, of_bias

    (of_weight, of_bias), *more = spread(work, len(rows), _PARTS, 2 * x.size)
    for part_of_weight, part_of_bias in more:
        of_weight += part_of_weight
        of_bias += part_of_bias
    dtype = mean.dtype if weight is None else weight.dtype
    return (
        narrow(out, x.dtype).reshape(x.shape),
        of_weight.astype(dtype, copy=False).reshape(shape),
        of_bias.astype(dtype, copy=False).reshape(shape),
    )


def rms_norm(x: Any, weight: Any, count: int, eps: float) -> tuple[Any, Any]:
    shape = x.shape[: x.ndim - count] + (1,) * count
    features = math.prod(x.shape[x.ndim - count :])
    rows = half_to_float32(x.reshape(math.prod(shape), features))
    out, inverse = np.empty(rows.shape, rows.dtype), np.empty((len(rows), 1), rows.dtype)
    factor = None if weight is None else half_to_float32(weight).reshape(-1).astype(rows.dtype, copy=False)

    def work(first: int, end: int) -> None:
        part, scale = rows[first:end], inverse[first:end]
        np.einsum("ij,ij->i", part, part, out=scale[:, 0])
        scale /= features
        scale += np.asarray(eps, out.dtype)
        np.sqrt(scale, out=scale)
        np.divide(1, scale, out=scale)
        np.multiply(part, scale, out=out[first:end])
        if factor is not None:
            out[first:end] *= factor

    spread(work, len(rows), cost=2 * x.size)
    return narrow(out, x.dtype).reshape(x.shape), inverse.reshape(shape)


def rms_norm_backward(g: Any, x: Any, weight: Any, inverse: Any, count: int, eps: float) -> tuple[Any, Any]:
    shape = x.shape[x.ndim - count :]
    features = math.prod(shape)
    rows, arriving = (
        half_to_float32(x.reshape(inverse.size, features)),
        half_to_float32(g.reshape(inverse.size, features)),
    )
    scale = inverse.reshape(-1, 1)
    out = np.empty(rows.shape, rows.dtype)
    factor = None if weight is None else half_to_float32(weight).reshape(-1).astype(rows.dtype, copy=False)

    def work(first: int, end: int) -> Any:
        normalized, gradient, part = out[first:end], arriving[first:end], scale[first:end]
        np.multiply(rows[first:end], part, out=normalized)
        of_weight = np.einsum("ij,ij->j", gradient, normalized)
        scaled = gradient if factor is None else gradient * factor
        normalized *= np.einsum("ij,ij->i", scaled, normalized)[:, None] / -features
        normalized += scaled
        normalized *= part
        return of_weight

    of_weight, *more = spread(work, len(rows), _PARTS, 2 * x.size)
    for part in more:
        of_weight += part
    dtype = inverse.dtype if weight is None else weight.dtype
    return (
        narrow(out, x.dtype).reshape(x.shape),
        of_weight.astype(dtype, copy=False).reshape(shape),
    )


KERNELS = {
    "batch_norm": Kernel(batch_norm),
    "batch_norm_backward": Kernel(batch_norm_backward),
    "batch_norm_by": Kernel(batch_norm_by),
    "layer_norm": Kernel(layer_norm),
    "layer_norm_backward": Kernel(layer_norm_backward),
    "rms_norm": Kernel(rms_norm),
    "rms_norm_backward": Kernel(rms_norm_backward),
}
