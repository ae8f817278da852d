"""Poolings."""

from __future__ import annotations

import math
from typing import Any

import polyad as torch

from ..registry import translates
from .arithmetic import number

Sizes = tuple[int, ...]


def _windows(kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool) -> dict[str, Any]:
    return {
        "kernel_shape": list(kernel), "strides": list(stride), "pads": [*padding, *padding], "ceil_mode": int(ceil_mode)
    }  # fmt: skip


@translates("max_pool")
def max_pool(
    to: Any, input: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Any:
    """The largest element of each window."""
    return to.op("MaxPool", input, dilations=list(dilation), **_windows(kernel, stride, padding, ceil_mode))


@translates("max_pool_with_indices")
def max_pool_with_indices(
    to: Any, input: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Any, Any]:
    """The same, and the places of these elements in the flattened image."""
    given = _windows(kernel, stride, padding, ceil_mode)
    out, places = to.op("MaxPool", input, count=2, dilations=list(dilation), **given)
    places.type = to.ir.TensorType(to.ir.DataType.INT64)
    image = to.shape(to.node.args[0])[2:]  # the operator counts through all images
    return out, to.op("Mod", places, to.constant(math.prod(image), torch.int64))


def _has_windows_inside(
    input: Any, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool, divisor: Any
) -> bool:
    return input.dtype.is_floating_point and not (divisor is not None and ceil_mode)


@translates("avg_pool", when=_has_windows_inside)
def avg_pool(
    to: Any,
    input: Any,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Any:
    """The average of each window, or its sum divided by a number."""
    counts = int(count_include_pad or divisor is not None)
    given = _windows(kernel, stride, padding, ceil_mode)
    out = to.op("AveragePool", input, count_include_pad=counts, **given)
    if divisor is None:
        return out
    return to.op("Mul", out, number(to, math.prod(kernel) / divisor))
