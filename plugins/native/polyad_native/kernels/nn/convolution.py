"""Convolutions of sequences, images and volumes, and their gradients.

The gradient to the input is a convolution of the result's gradient with the kernel turned around; for a stride, one for
each phase of it: the places of the input that a kernel's elements reach are a grid of their own for each.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature
from polyad.base.dtypes import float32, float64
from polyad.base.shapes_and_strides import window_count

from ...choosing import Call
from ...engine import HALVES, Library

CONVOLUTION = Library(
    "kernels/nn/convolution", (float32, float64, *HALVES), soon=("gemm/gemm", "kernels/nn/pooling/maximum")
)

Sizes = tuple[int, ...]
_PACK = struct.Struct("22q").pack


def _three(sizes: Sizes, lacking: int) -> tuple[int, ...]:
    return (lacking,) * (3 - len(sizes)) + tuple(sizes)


def _checked(*arrays: Any) -> list[Any]:
    """The arrays row-major. The engine takes up to three dimensions that have elements."""
    if arrays[0].ndim not in (3, 4, 5) or not all(array.size for array in arrays):
        raise Declined
    return [array if array.flags.c_contiguous else array.copy() for array in arrays]


def _geometry(
    input: Sizes, out_channels: int, kernel: Sizes, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> bytes:  # fmt: skip
    return _PACK(
        *input[:2], *_three(input[2:], 1), out_channels, *_three(kernel, 1), *_three(out, 1), *_three(stride, 1),
        *_three(padding, 0), *_three(dilation, 1), groups,
    )  # fmt: skip


def convolution(types: Signature) -> Call | None:
    """The kernel of `convolution`."""
    convolve = CONVOLUTION.function("convolve", types[0].dtype)

    def call(x: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
        (x,) = _checked(x)
        if not weight.size or weight.ndim != x.ndim or groups < 1 or weight.shape[1] * groups != x.shape[1]:
            raise Declined
        if weight.shape[0] % groups or (bias is not None and bias.shape != weight.shape[:1]):
            raise Declined
        out = tuple(map(window_count, x.shape[2:], weight.shape[2:], stride, padding, dilation))
        if min(out) < 1:
            raise Declined
        return _convolved(convolve, x, weight, bias, out, stride, padding, dilation, groups)

    return None if convolve is None else call


def _convolved(
    convolve: Any, x: Any, weight: Any, bias: Any, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> Any:  # fmt: skip
    result = np.empty((x.shape[0], weight.shape[0], *out), x.dtype)
    geometry = _geometry(x.shape, weight.shape[0], weight.shape[2:], out, stride, padding, dilation, groups)
    convolve(result, x, weight, bias, geometry)
    return result


def convolution_transposed(types: Signature) -> Call | None:
    """The kernel of `convolution_transposed`."""
    convolve = CONVOLUTION.function("convolve", types[0].dtype)

    def call(
        g: Any, weight: Any, bias: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Any:
        (g,) = _checked(g)
        if not weight.size or weight.ndim != g.ndim or groups < 1 or weight.shape[0] != g.shape[1]:
            raise Declined
        if weight.shape[0] % groups or min(size) < 1 or (math.prod(stride) > 1 and math.prod(dilation) > 1):
            raise Declined
        each, kernel = weight.shape[1], weight.shape[2:]
        if bias is not None and bias.shape != (each * groups,):
            raise Declined
        dims = len(size)
        by_group = weight.reshape(groups, -1, each, *kernel).swapaxes(1, 2)
        turned = np.flip(by_group, tuple(range(3, 3 + dims))).reshape(groups * each, -1, *kernel)
        if math.prod(stride) == 1:
            around = tuple([d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)])
            return _convolved(convolve, g, turned, bias, size, stride, around, dilation, groups)
        out = np.empty((g.shape[0], each * groups, *size), g.dtype)
        for phase in np.ndindex(*stride):
            at: tuple[Any, ...] = tuple([slice(first, None, step) for first, step in zip(phase, stride)])
            taps = [(first + p) % step for first, p, step in zip(phase, padding, stride)]
            reached = [slice((k - 1 - tap) % step, None, step) if tap < k else slice(0, 0)
                       for tap, k, step in zip(taps, kernel, stride)]  # fmt: skip
            part: Any = turned[..., *reached]
            target: Any = out[..., *at]
            if not target.size:
                continue
            if not part.size:
                target[...] = 0 if bias is None else bias.reshape(-1, *[1] * dims)
                continue
            padded = tuple([
                count - 1 - (first + p - tap) // step
                for count, first, p, tap, step in zip(part.shape[2:], phase, padding, taps, stride)
            ])  # fmt: skip
            ones = (1,) * dims
            target[...] = _convolved(convolve, g, part, bias, target.shape[2:], ones, padded, ones, groups)
        return out

    return None if convolve is None else call


def convolution_weight_grad(types: Signature) -> Call | None:
    """The kernel of `convolution_weight_grad`."""
    convolve = CONVOLUTION.function("convolve_weight", types[0].dtype)

    def call(g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
        g, x = _checked(g, x)
        if groups < 1 or x.shape[1] % groups or g.shape[1] % groups or min(kernel) < 1:
            raise Declined
        if any(
            window_count(*axis) != length
            for *axis, length in zip(x.shape[2:], kernel, stride, padding, dilation, g.shape[2:])
        ):
            raise Declined
        out = np.empty((g.shape[1], x.shape[1] // groups, *kernel), np.float32 if x.itemsize == 2 else x.dtype)
        geometry = _geometry(x.shape, g.shape[1], kernel, g.shape[2:], stride, padding, dilation, groups)
        convolve(out, g, x, geometry)
        return out.astype(x.dtype, copy=False)

    return None if convolve is None else call
