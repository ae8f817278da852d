"""Poolings."""

from __future__ import annotations

import math
from typing import Any

import polyad as torch
from polyad.graph.expressions import product

from ..registry import translates
from .arithmetic import number

Sizes = tuple[int, ...]


def _window_attributes(
    to: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> dict[str, Any]:
    """The attributes of a pooling. Where sizes are rounded up, the padding behind is what the last window needs: by
    ONNX's own rounding a window may lie in the padding alone.
    """
    given, made = to.sizes_of(to.node.args[0])[2:], to.result.sizes[2:]
    fixed = all(isinstance(size, int) for size in (*given, *made))
    behind = list(padding)
    if ceil_mode and fixed:
        ends = [
            (count - 1) * step + apart * (width - 1) + 1 - size - pad
            for count, step, apart, width, size, pad in zip(made, stride, dilation, kernel, given, padding, strict=True)
        ]
        behind = [max(end, 0) for end in ends]
    return {
        "kernel_shape": list(kernel), "strides": list(stride), "pads": [*padding, *behind],
        "ceil_mode": int(ceil_mode and not fixed),
    }  # fmt: skip


@translates("max_pool")
def max_pool(
    to: Any, input: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Any:
    """The largest element of each window."""
    given = _window_attributes(to, kernel, stride, padding, dilation, ceil_mode)
    return to.op("MaxPool", input, dilations=list(dilation), **given)


@translates("max_pool_with_indices")
def max_pool_with_indices(
    to: Any, input: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Any, Any]:
    """The same, and the places of these elements in the flattened image."""
    given = _window_attributes(to, kernel, stride, padding, dilation, ceil_mode)
    out, places = to.op("MaxPool", input, count=2, dilations=list(dilation), **given)
    places.type = to.ir.TensorType(to.ir.DataType.INT64)
    image = to.sizes_of(to.node.args[0])[2:]  # the operator counts through all images
    return out, to.op("Mod", places, to.number(product(image), torch.int64))


@translates("avg_pool", when=lambda input, *params: input.dtype.is_floating_point)
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
    counts = count_include_pad or divisor is not None
    given = _window_attributes(to, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    out = to.op("AveragePool", input, count_include_pad=int(counts), **given)
    area = math.prod(kernel)
    if divisor is not None:
        return to.op("Mul", out, number(to, area / divisor))
    if not counts or given["pads"][len(kernel) :] == list(padding):
        return out
    sizes = to.sizes_of(to.node.args[0])[2:]
    return to.op(
        "Mul", out, to.constant(area / _places_in_windows(to, sizes, kernel, stride, padding), to.result.dtype)
    )


def _places_in_windows(to: Any, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes) -> Any:
    """How many places of the padded input are in each window: padding behind that for the sake of rounding is not."""
    found = torch.ones((), dtype=to.result.dtype)
    for dim, (size, width, step, pad, count) in enumerate(
        zip(sizes, kernel, stride, padding, to.result.sizes[2:], strict=True)
    ):
        row = [min(place * step + width, size + 2 * pad) - place * step for place in range(count)]
        found = found * torch.tensor(row, dtype=to.result.dtype).reshape(-1, *[1] * (len(sizes) - dim - 1))
    return found
