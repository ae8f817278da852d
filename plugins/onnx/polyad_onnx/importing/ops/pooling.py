"""Pooling."""

from __future__ import annotations

import math
from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor

from ..operators import REQUIRED, Compute, Node, operator
from .windows import Windows, padded

__all__: list[str] = []

AVERAGE: dict[int, Any] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
LARGEST: dict[int, Any] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
LARGEST_WITH_PLACES: dict[int, Any] = {
    1: F.max_pool1d_with_indices,
    2: F.max_pool2d_with_indices,
    3: F.max_pool3d_with_indices,
}


def _padding_at_ends(x: Tensor, kernel: list[int], window: Any, rounded_up: bool) -> tuple[list[int], ...]:
    """The window, and padding at the ends: what the node says, and what the last of a rounded-up count needs."""
    strides, dilations, before, after = window
    more = []
    for size, k, stride, apart, b, a in zip(x.shape[2:], kernel, strides, dilations, before, after, strict=True):
        room = size + b + a - apart * (k - 1) - 1
        count = (-(-room // stride) if rounded_up else room // stride) + 1
        if rounded_up and (count - 1) * stride >= size + b:
            count -= 1  # a window must not begin in the padding at the end
        more.append(max((count - 1) * stride + apart * (k - 1) + 1 - (size + b), 0))
    return strides, dilations, before, after, more


@operator("MaxPool")
def max_pool(node: Node) -> Compute:
    windows, kernel = Windows.of(node), node.integers("kernel_shape", REQUIRED)
    rounded_up, by_columns = bool(node.integer("ceil_mode", 0)), node.integer("storage_order", 0)
    dims = len(kernel)
    if dims not in LARGEST:
        raise node.wrong(f"kernel_shape has {dims} sizes; 1 to 3 are computed")

    def call(x: Tensor) -> Any:
        window = windows.at(x.shape[2:], kernel)
        strides, dilations, before, after, ends = _padding_at_ends(x, kernel, window, rounded_up)
        small = x.dtype in (polyad.int8, polyad.uint8)
        data = x.to(polyad.float32) if small else x
        simple = before == after and not rounded_up and all(2 * b <= k for b, k in zip(before, kernel, strict=True))
        if node.outputs == 1 and simple:
            return LARGEST[dims](data, kernel, strides, before, dilations).to(x.dtype)
        lowest = -math.inf
        data = padded(data, before, [max(each, 0) for each in ends], lowest)
        if node.outputs == 1:
            return LARGEST[dims](data, kernel, strides, 0, dilations).to(x.dtype)
        values, places = LARGEST_WITH_PLACES[dims](data, kernel, strides, 0, dilations)
        return values.to(x.dtype), _unpadded(places, data.shape[2:], x, before, by_columns)

    return call


def _unpadded(places: Tensor, sizes: Any, x: Tensor, before: list[int], by_columns: int) -> Tensor:
    """Places in the padded input as places in the whole tensor."""
    coordinates: list[Tensor] = []
    for dim in reversed(range(len(sizes))):
        coordinates.insert(0, places % sizes[dim] - before[dim])
        places = places // sizes[dim]
    inner = x.shape[2:]
    order = list(range(len(sizes)))
    flat = polyad.zeros_like(places)
    for dim in reversed(order) if by_columns else order:
        flat = flat * inner[dim] + coordinates[dim]
    channels = polyad.arange(x.shape[0] * x.shape[1], device=x.device) * math.prod(inner)
    return flat + channels.reshape(*x.shape[:2], *[1] * len(sizes))


@operator("AveragePool")
def average_pool(node: Node) -> Compute:
    windows, kernel = Windows.of(node), node.integers("kernel_shape", REQUIRED)
    rounded_up, with_padding = bool(node.integer("ceil_mode", 0)), bool(node.integer("count_include_pad", 0))
    dims = len(kernel)
    if dims not in AVERAGE:
        raise node.wrong(f"kernel_shape has {dims} sizes; 1 to 3 are computed")

    def call(x: Tensor) -> Tensor:
        window = windows.at(x.shape[2:], kernel)
        strides, dilations, before, after, ends = _padding_at_ends(x, kernel, window, rounded_up)
        plain = all(each == 1 for each in dilations)
        if (
            plain
            and before == after
            and not rounded_up
            and all(2 * b <= k for b, k in zip(before, kernel, strict=True))
        ):
            return AVERAGE[dims](x, kernel, strides, before, False, with_padding)
        ones = polyad.ones(1, 1, *x.shape[2:], dtype=x.dtype, device=x.device)
        counted = padded(ones, before, after, 1.0) if with_padding else padded(ones, before, after)
        counted = padded(counted, [0] * dims, [e - a for e, a in zip(ends, after, strict=True)])
        summed = _window_sums(padded(x, before, ends), kernel, strides, dilations)
        return summed / _window_sums(counted, kernel, strides, dilations)

    return call


def _window_sums(x: Tensor, kernel: list[int], strides: list[int], dilations: list[int]) -> Tensor:
    """The sum over each window."""
    for index, (k, stride, apart) in enumerate(zip(kernel, strides, dilations, strict=True)):
        x = x.unfold(2 + index, apart * (k - 1) + 1, stride)[..., ::apart].sum(-1)
    return x


@operator("LpPool")
def lp_pool(node: Node) -> Compute:
    windows, kernel = Windows.of(node), node.integers("kernel_shape", REQUIRED)
    power, rounded_up = node.integer("p", 2), bool(node.integer("ceil_mode", 0))

    def call(x: Tensor) -> Tensor:
        strides, dilations, before, _, ends = _padding_at_ends(x, kernel, windows.at(x.shape[2:], kernel), rounded_up)
        summed = _window_sums(padded(x.abs() ** power, before, ends), kernel, strides, dilations)
        return summed ** (1 / power)

    return call


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(node: Node) -> Compute:
    power = node.integer("p", 2) if node.proto.op_type == "GlobalLpPool" else 0

    def call(x: Tensor) -> Tensor:
        dims = tuple(range(2, x.ndim))
        if power:
            return polyad.linalg.vector_norm(x, power, dims, keepdim=True)
        if node.proto.op_type == "GlobalMaxPool":
            return x.amax(dims, keepdim=True)
        return x.mean(dims, keepdim=True)

    return call


@operator("MaxUnpool", host=(2,))
def max_unpool(node: Node) -> Compute:
    kernel = node.integers("kernel_shape", REQUIRED)
    strides, pads = node.integers("strides", [1] * len(kernel)), node.integers("pads", [0] * 2 * len(kernel))

    def call(x: Tensor, places: Tensor, shape: Any = None) -> Tensor:
        dims = len(kernel)
        sizes = [
            (size - 1) * stride - pads[index] - pads[dims + index] + k
            for index, (size, stride, k) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
        ]
        # The places are counted in a tensor of the sizes that the node says, and lie in the one that is wanted.
        made = polyad.zeros(math.prod(x.shape[:2]) * math.prod(sizes), dtype=x.dtype, device=x.device)
        made = made.scatter(0, places.reshape(-1), x.reshape(-1)).reshape(*x.shape[:2], *sizes)
        if shape is None:
            return made
        return padded(made, [0] * dims, [wanted - size for wanted, size in zip(shape[2:], sizes, strict=True)])

    return call


@operator("MaxRoiPool", host=(1,))
def max_roi_pool(node: Node) -> Compute:
    height, width = node.integers("pooled_shape", REQUIRED)
    scale = node.number("spatial_scale", 1.0)

    def call(x: Tensor, regions: Any) -> Tensor:
        return polyad.stack([_region(x, region, height, width, scale) for region in regions])

    return call


def _region(x: Tensor, region: list[float], height: int, width: int, scale: float) -> Tensor:
    """The largest elements of a region, (channels, height, width)."""
    batch, *corners = region
    left, top, right, bottom = (math.floor(each * scale + 0.5) for each in corners)
    rows, columns = max(bottom - top + 1, 1) / height, max(right - left + 1, 1) / width
    picture = x[int(batch)]
    made = []
    for i in range(height):
        for j in range(width):
            y0, y1 = math.floor(i * rows) + top, math.ceil((i + 1) * rows) + top
            x0, x1 = math.floor(j * columns) + left, math.ceil((j + 1) * columns) + left
            y0, y1 = (min(max(each, 0), x.shape[2]) for each in (y0, y1))
            x0, x1 = (min(max(each, 0), x.shape[3]) for each in (x0, x1))
            part = picture[:, y0:y1, x0:x1]
            made.append(part.amax((1, 2)) if part.numel() else picture.new_zeros(x.shape[1]))
    return polyad.stack(made, -1).reshape(x.shape[1], height, width)
