"""Normalisation by statistics of the elements themselves: batch norm over all but the channels, layer norm over the
last dimensions. Statistics in two passes (mean, then squares of what is left), which lose nothing to cancellation, then
one pass that normalises, scales and shifts; gradients are two sums and one pass.

Half types are computed in float32, and their statistics stay there. Complex numbers are left to decompositions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.codegen import Expression, Operand, Scalar, apply, cast
from polyad.dtypes import FLOATING, DType

from ...array import Array, new
from ...runtime.device import opened
from ...source.generated import Fused, Reduced, packer
from ..memory.conversion import copy
from ..optim import wide_dtype

Call = Callable[..., Any]


def _floating(types: Signature) -> bool:
    return all(entry.dtype.category == FLOATING for entry in types if isinstance(entry, TensorType))


def _view(array: Array, shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    return Array(array.block, array.dtype, shape, steps, array.offset)


def _beside(channels: Array, ndim: int) -> Array:
    """A value a channel, so that it broadcasts along (N, C, ...)."""
    ones = (1,) * (ndim - 2)
    return _view(channels, (*channels.shape, *ones), (*channels.steps, *ones))


def _converted(array: Array, dtype: DType) -> Array:
    if array.dtype is dtype:
        return array
    converted = new(array.device, array.shape, dtype)
    copy(converted, array)
    return converted


class _Norm:
    """The kernels of a signature: input, and a weight and bias that may be absent."""

    def __init__(self, op: str, types: Signature) -> None:
        dtype, device = types[0].dtype, opened(types[0].device)
        wide = wide_dtype(dtype)
        what = f"{op} of {dtype.name}"
        self.pack = packer(wide)
        x, centre = cast(Operand(0, dtype), wide), Operand(1, wide)
        self.total = Reduced(device, what, x, "sum", wide)
        self.squares = Reduced(device, what, (x - centre) * (x - centre), "sum", wide)
        self.share = Fused(device, what, [Operand(0, wide) / Scalar(0, wide)])
        result: Expression = (x - centre) * (1 / apply("sqrt", Operand(2, wide) + Scalar(0, wide)))
        position = 3
        for entry, op_name in ((types[1], "mul"), (types[2], "add")):
            if isinstance(entry, TensorType):
                result = apply(op_name, result, cast(Operand(position, entry.dtype), wide))
                position += 1
        self.finish = Fused(device, what, [cast(result, dtype)])

    def statistics(self, x: Array, dims: tuple[int, ...]) -> tuple[Array, Array]:
        """Mean and variance, with the reduced dimensions there as ones."""
        count = self.pack(math.prod([x.shape[dim] for dim in dims]))
        mean = self.share((self.total((x,), dims, True),), count)[0]
        return mean, self.share((self.squares((x, mean), dims, True),), count)[0]

    def __call__(
        self, x: Array, dims: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float
    ) -> tuple[Array, Array, Array]:
        mean, var = self.statistics(x, dims)
        arrays = [x, mean, var, *(array for array in (weight, bias) if array is not None)]
        return self.finish(arrays, self.pack(eps))[0], mean, var


def _over_batch(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _batch_norm(types: Signature) -> Call | None:
    if not _floating(types):
        return None
    norm = _Norm("batch_norm", types)

    def batch_norm(x: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, ...]:
        ndim = x.ndim
        scale, shift = (None if array is None else _beside(array, ndim) for array in (weight, bias))
        out, mean, var = norm(x, _over_batch(ndim), scale, shift, eps)
        flat = (x.shape[1],)
        return out, _view(mean, flat, (1,)), _view(var, flat, (1,))

    return batch_norm


def _layer_norm(types: Signature) -> Call | None:
    if not _floating(types):
        return None
    norm = _Norm("layer_norm", types)

    def layer_norm(x: Array, weight: Array | None, bias: Array | None, count: int, eps: float) -> tuple[Array, ...]:
        return norm(x, tuple(range(x.ndim - count, x.ndim)), weight, bias, eps)

    return layer_norm


class _Backward:
    """The kernels of a gradient's signature: grad, input, weight or None, mean, variance."""

    def __init__(self, op: str, types: Signature) -> None:
        dtype, device = types[1].dtype, opened(types[0].device)
        wide = wide_dtype(dtype)
        what = f"{op} of {dtype.name}"
        self.wide = wide
        self.pack = packer(wide)
        g, x = cast(Operand(0, types[0].dtype), wide), cast(Operand(1, dtype), wide)
        mean, var = (cast(Operand(n, entry.dtype), wide) for n, entry in zip((2, 3), types[3:5], strict=True))
        inverse = 1 / apply("sqrt", var + Scalar(0, wide))
        normalized = (x - mean) * inverse
        weight = cast(Operand(4, types[2].dtype), wide) if isinstance(types[2], TensorType) else None
        scaled = g if weight is None else g * weight
        position = 4 if weight is None else 5
        first, second = Operand(position, wide), Operand(position + 1, wide)
        count = Scalar(1, wide)
        self.sum = Reduced(device, what, g, "sum", wide)
        self.sum_normalized = Reduced(device, what, g * normalized, "sum", wide)
        if weight is None:
            self.scaled_sum, self.scaled_normalized = self.sum, self.sum_normalized
        else:
            plain = cast(Operand(1, types[2].dtype), wide)
            self.scaled_sum = Reduced(device, what, g * plain, "sum", wide)
            self.scaled_normalized = Reduced(device, what, scaled * normalized, "sum", wide)
            self.product = Fused(device, what, [Operand(0, wide) * plain])
        result = (scaled - (first + normalized * second) / count) * inverse
        self.finish = Fused(device, what, [cast(result, dtype)])


def _batch_norm_backward(types: Signature) -> Call | None:
    if not _floating(types):
        return None
    run = _Backward("batch_norm_backward", types)

    def backward(g: Array, x: Array, weight: Array | None, mean: Array, var: Array, eps: float) -> tuple[Array, ...]:
        ndim = x.ndim
        dims = _over_batch(ndim)
        given = [_beside(mean, ndim), _beside(var, ndim), *([] if weight is None else [_beside(weight, ndim)])]
        packed = run.pack(eps)
        of_bias = run.sum((g,), dims, False)
        of_weight = run.sum_normalized((g, x, *given[:2]), dims, False, packed)
        sums = [of_bias, of_weight]
        if weight is not None:
            # The sums of what is scaled are the scaled sums, since a channel has one weight.
            sums = [run.product((array, weight))[0] for array in sums]
        count = run.pack(math.prod([x.shape[dim] for dim in dims]))
        grad = run.finish((g, x, *given, *(_beside(array, ndim) for array in sums)), (*packed, *count))[0]
        dtype = run.wide if weight is None else weight.dtype
        return grad, _converted(of_weight, dtype), _converted(of_bias, dtype)

    return backward


def _layer_norm_backward(types: Signature) -> Call | None:
    if not _floating(types):
        return None
    run = _Backward("layer_norm_backward", types)

    def backward(
        g: Array, x: Array, weight: Array | None, mean: Array, var: Array, count: int, eps: float
    ) -> tuple[Array, ...]:
        rows, last = tuple(range(x.ndim - count)), tuple(range(x.ndim - count, x.ndim))
        packed = run.pack(eps)
        given: Sequence[Array] = (mean, var) if weight is None else (mean, var, weight)
        plain = (g,) if weight is None else (g, weight)
        sums = run.scaled_sum(plain, last, True), run.scaled_normalized((g, x, *given), last, True, packed)
        length = run.pack(math.prod(x.shape[x.ndim - count :]))
        grad = run.finish((g, x, *given, *sums), (*packed, *length))[0]
        of_weight, of_bias = run.sum_normalized((g, x, mean, var), rows, False, packed), run.sum((g,), rows, False)
        dtype = run.wide if weight is None else weight.dtype
        return grad, _converted(of_weight, dtype), _converted(of_bias, dtype)

    return backward


def _unspecialized(*operands: Any) -> Any:
    raise AssertionError("written for each signature")


KERNELS = {
    "batch_norm": Kernel(_unspecialized, specialize=_batch_norm),
    "batch_norm_backward": Kernel(_unspecialized, specialize=_batch_norm_backward),
    "layer_norm": Kernel(_unspecialized, specialize=_layer_norm),
    "layer_norm_backward": Kernel(_unspecialized, specialize=_layer_norm_backward),
}
