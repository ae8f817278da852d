"""Convolutions by cuDNN where it is proved: channels that lie innermost stay there, and nothing is unfolded.

Each dtype has a proof of its own, and so has TF32, which is used for float32 where ``polyad.backends.cudnn.allow_tf32``
is true, as it is by default. What cuDNN has no plan for, what is empty, and what has 2**31 elements goes the safe way.
A convolution's bias is added before the result is rounded; that of a transposed one, for which cuDNN has no plans, by a
kernel of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyad.backends import cudnn as switches
from polyad.base.dtypes import DType, bfloat16, float32, float64
from polyad.base.shapes_and_strides import contiguous_strides, has_channels_last
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying
from polyad_kernels.memo import memoize

from ...libraries.accuracy import EPSILON, TF32_EPSILON, difference, on_host, random
from ...libraries.cudnn import ALIGNMENT, AVOIDED, TYPES, CudnnError, Engine, Sizes, Work, version
from ..pointwise.arithmetic import add_to

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class Convolution(Work):
    """A convolution, or what is left of one when its result's gradient is given.

    Attributes:
        operation: the frontend's name: of input and weight the result, of gradient and weight the input's gradient, of
            input and gradient the weight's.
        sizes: of the first operand, the second, and what is computed.
        last: whether the channels of all three lie innermost in memory.
        tf32: whether float32 numbers may be rounded to 10 bits behind the point before they are multiplied.
        biased: whether a number is added to each channel of the result.
    """

    operation: str
    dtype: DType
    sizes: tuple[Sizes, Sizes, Sizes]
    last: bool
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    tf32: bool = False
    biased: bool = False

    @property
    def avoided(self) -> tuple[str, ...]:
        """Notes of engines that are not to be chosen."""
        return (*AVOIDED, "TENSOR_CORE") if self.dtype is float32 and not self.tf32 else AVOIDED

    def describe(self, cudnn: Any, graph: Any) -> None:
        """Put the operation into *graph*."""
        kind = getattr(cudnn.data_type, TYPES[self.dtype])
        first, second = [
            graph.tensor(dim=list(sizes), stride=list(steps(sizes, self.last)), data_type=kind, name=name, uid=number)
            for number, (name, sizes) in enumerate(zip(("first", "second"), self.sizes), 1)
        ]
        settings = {
            "pre_padding": list(self.padding),
            "post_padding": list(self.padding),
            "stride": list(self.stride),
            "dilation": list(self.dilation),
        }
        if self.operation == "conv_fprop":
            result = graph.conv_fprop(image=first, weight=second, **settings)
        elif self.operation == "conv_dgrad":
            result = graph.conv_dgrad(loss=first, filter=second, **settings)
        else:
            result = graph.conv_wgrad(image=first, loss=second, **settings)
        sizes = self.sizes[2]
        if self.biased:
            each = (1, sizes[1], *[1] * (len(sizes) - 2))
            laid = list(steps(each, self.last))
            bias = graph.tensor(dim=list(each), stride=laid, data_type=kind, name="bias", uid=4)
            result = graph.bias(input=result, bias=bias)
        result.set_output(True).set_dim(list(sizes)).set_stride(list(steps(sizes, self.last)))
        result.set_data_type(kind).set_uid(3)


def work(
    operation: str, dtype: DType, sizes: tuple[Sizes, Sizes, Sizes], last: bool, stride: Sizes, padding: Sizes,
    dilation: Sizes, tf32: bool, biased: bool = False,
) -> Convolution:  # fmt: skip
    """The convolution over one to three dimensions; cuDNN has images and volumes."""
    if len(stride) > 1:
        return Convolution(operation, dtype, sizes, last, stride, padding, dilation, tf32, biased)
    first, second, result = [(*each[:2], 1, each[2]) for each in sizes]
    wide = (first, second, result)
    return Convolution(operation, dtype, wide, last, (1, *stride), (0, *padding), (1, *dilation), tf32, biased)


def steps(sizes: Sizes, last: bool) -> Sizes:
    """Those of (N, C, spatial..) in row-major order, or with the channels innermost.

    >>> steps((2, 3, 4, 5), True)
    (60, 1, 15, 3)
    """
    if not last:
        return contiguous_strides(sizes)
    outer, *inner, channels = contiguous_strides((sizes[0], *sizes[2:], sizes[1]))
    return (outer, channels, *inner)


def convolved(
    input: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:
    """The result of ``convolution``; None if that is left to others."""
    if not _wanted(input.dtype):
        return None
    windows = zip(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    sizes = (input.shape[0], weight.shape[0], *[_places(*each) for each in windows])
    if bias is not None:
        out = _proved("conv_fprop", input, weight, sizes, stride, padding, dilation, bias)
        if out is not None:
            return out
    out = _proved("conv_fprop", input, weight, sizes, stride, padding, dilation)
    return None if out is None else _with_bias(out, bias)


def transposed(
    input: Array, weight: Array, bias: Array | None, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> Array | None:  # fmt: skip
    """The result of ``convolution_transposed``; None if that is left to others."""
    if not _wanted(input.dtype):
        return None
    sizes = (input.shape[0], groups * weight.shape[1], *size)
    out = _proved("conv_dgrad", input, weight, sizes, stride, padding, dilation)
    return None if out is None else _with_bias(out, bias)


def weight_grad(
    grad: Array, input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:
    """The result of ``convolution_weight_grad``; None if that is left to others."""
    if not _wanted(input.dtype):
        return None
    sizes = (grad.shape[1], input.shape[1] // groups, *kernel)
    return _proved("conv_wgrad", input, grad, sizes, stride, padding, dilation)


def _wanted(dtype: DType) -> bool:
    return switches.enabled and dtype in TYPES


def _places(size: int, taps: int, step: int, more: int, apart: int) -> int:
    return (size + 2 * more - apart * (taps - 1) - 1) // step + 1


def _with_bias(out: Array, bias: Array | None) -> Array:
    if bias is not None:
        spread = (0, bias.steps[0], *[0] * (out.ndim - 2))
        add_to(out, Array(bias.block, bias.dtype, out.shape, spread, bias.offset))
    return out


def _proved(
    operation: str, first: Array, second: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    bias: Array | None = None,
) -> Array | None:  # fmt: skip
    """What cuDNN computes; None where it has not been proved, or has no plan."""
    device, dtype = first.device, first.dtype
    if any(not 0 < math.prod(each) < _MOST for each in (first.shape, second.shape, sizes)):
        return None
    way, tf32_way = f"{dtype.name} convolutions by cuDNN", "TF32 convolutions by cuDNN"
    if not device.proofs.holds(way, version, lambda: _objection(device, dtype, False)):
        return None
    tf32 = dtype is float32 and switches.allow_tf32
    tf32 = tf32 and device.proofs.holds(tf32_way, version, lambda: _objection(device, dtype, True))
    try:
        return _run(operation, first, second, sizes, stride, padding, dilation, tf32, bias)
    except CudnnError as error:
        device.proofs.drop(tf32_way if tf32 else way, error)
        return None


@memoize
def engine(device: Any) -> Engine:
    """cuDNN on *device*."""
    return Engine(device)


def _run(
    operation: str, first: Array, second: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    tf32: bool, bias: Array | None = None,
) -> Array | None:  # fmt: skip
    device, dtype = first.device, first.dtype
    last = _channels_last(first, second)
    out = Array(device.pool.take(math.prod(sizes) * dtype.itemsize), dtype, sizes, steps(sizes, last), 0)
    arrays = [_laid(first, last), _laid(second, last), out, *([] if bias is None else [_row(bias)])]
    biased, shapes = bias is not None, (first.shape, second.shape, sizes)
    wanted = work(operation, dtype, shapes, last, stride, padding, dilation, tf32, biased)
    places = [x.buffer + x.offset * dtype.itemsize for x in arrays]
    tried = switches.benchmark_limit or _MOST if switches.benchmark else 0
    return out if engine(device)(wanted, places, tried) else None


def _channels_last(*operands: Array) -> bool:
    """Whether PyTorch has the result so, which computes volumes of some dtypes in row-major order alone."""
    if operands[0].ndim == 5 and operands[0].dtype not in (float32, bfloat16):
        return False
    return any(x.steps[1] <= x.steps[-1] and has_channels_last(x.shape, x.steps) for x in operands)


def _laid(x: Array, last: bool) -> Array:
    """*x* as `steps` says; itself, if it lies so."""
    return _as(x, steps(x.shape, last))


def _row(x: Array) -> Array:
    """*x*, of one dimension, as cuDNN reads it."""
    return _as(x, contiguous_strides(x.shape))


def _as(x: Array, wanted: Sizes) -> Array:
    in_place = all(size == 1 or have == want for size, have, want in zip(x.shape, x.steps, wanted))
    if in_place and not (x.buffer + x.offset * x.dtype.itemsize) % ALIGNMENT:
        return x
    copied = new(x.device, x.shape, x.dtype)
    laid = Array(copied.block, x.dtype, x.shape, wanted, 0)
    copying.copy(laid, x)
    return laid


# ------------------------------------------------------------------------------------------------------------- proof

_TRIED: tuple[tuple[Sizes, Sizes, Sizes, Sizes, Sizes, int, bool], ...] = (
    # input, weight, stride, padding, dilation, groups, channels innermost
    ((2, 8, 9, 10), (16, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1, True),
    ((2, 8, 9, 10), (16, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1, False),
    ((3, 6, 11, 8), (4, 3, 3, 2), (2, 1), (0, 1), (1, 2), 2, True),
    ((2, 3, 12, 12), (8, 3, 5, 5), (2, 2), (2, 2), (1, 1), 1, False),
    ((2, 8, 6, 7), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), 8, True),
    ((2, 32, 5, 5), (64, 32, 1, 1), (1, 1), (0, 0), (1, 1), 1, True),
    ((2, 4, 5, 6, 7), (4, 4, 3, 3, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1), 1, True),
    ((4, 5, 20), (6, 5, 4), (2,), (1,), (1,), 1, False),
)


def _objection(device: Any, dtype: DType, tf32: bool) -> str:
    """What is wrong with cuDNN's convolutions here, beside the safe ones in float64; empty if nothing is."""
    rng = np.random.default_rng(0)
    error = TF32_EPSILON if tf32 else EPSILON[dtype]
    taken = 0
    for shape, kernel, stride, padding, dilation, groups, last in _TRIED:
        windows = zip(shape[2:], kernel[2:], stride, padding, dilation)
        results = (shape[0], kernel[0], *[_places(*each) for each in windows])
        x, w, g = (_random(device, rng, dtype, sizes, last) for sizes in (shape, kernel, results))
        bias = random(device, rng, dtype, kernel[:1])
        rest = (stride, padding, dilation)
        for operation, operands, sizes, safely in _cases(x, w, g, bias, rest, groups):
            fast = _run(operation, *operands[:2], sizes, *rest, tf32, *operands[2:])
            if fast is None:
                continue
            taken += 1
            wrong = difference(fast, on_host(safely(*map(_wide, operands))))
            if not wrong <= 8 * error:
                what = " with a bias" * (len(operands) > 2)
                return f"{operation} {shape} by {kernel}{what} differs by {wrong:.1e} of the largest element"
    return "" if taken else "none of the shapes that were tried has a plan"


def _cases(x: Array, w: Array, g: Array, b: Array, rest: tuple[Sizes, ...], groups: int) -> Iterator[tuple[Any, ...]]:
    """The operations: name, operands, sizes of the result, and the safe way."""
    from . import convolution as safe

    yield "conv_fprop", (x, w), g.shape, lambda x, w: safe.convolved(x, w, None, *rest, groups)
    yield "conv_fprop", (x, w, b), g.shape, lambda x, w, b: safe.convolved(x, w, b, *rest, groups)
    yield "conv_dgrad", (g, w), x.shape, lambda g, w: safe.transposed(g, w, None, x.shape[2:], *rest, groups)
    yield "conv_wgrad", (x, g), w.shape, lambda x, g: safe.weight_grad(g, x, w.shape[2:], *rest, groups)


def _wide(x: Array) -> Array:
    wide = new(x.device, x.shape, float64)
    copying.copy(wide, x)
    return wide


def _random(device: Any, rng: Any, dtype: DType, sizes: Sizes, last: bool) -> Array:
    return _laid(random(device, rng, dtype, sizes), last)
