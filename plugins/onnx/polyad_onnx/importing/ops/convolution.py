"""Convolutions."""

from __future__ import annotations

from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor
from polyad.errors import ShapeError

from ..operators import Compute, Node, operator
from .windows import Windows, padded

__all__ = ["convolved"]

CONVOLUTIONS: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED: dict[int, Any] = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def convolved(x: Tensor, weight: Tensor, bias: Tensor | None, windows: Windows, groups: int, fill: float = 0) -> Tensor:
    """The convolution of *x*, padded by *fill*."""
    dims = weight.ndim - 2
    function = CONVOLUTIONS.get(dims)
    if function is None or x.ndim != weight.ndim:
        raise ShapeError(
            f"Conv: input has {x.ndim} dimensions and weight {weight.ndim}; 3 to 5 are computed, as many for both",
            operands={"input": x, "weight": weight},
            fix="give the model an input of the shape that it was made for",
        )
    strides, dilations, before, after = windows.at(x.shape[2:], weight.shape[2:])
    if before != after or fill:
        x, before = padded(x, before, after, fill), [0] * dims
    return function(x, weight, bias, strides, before, dilations, groups)


@operator("Conv")
def conv(node: Node) -> Compute:
    windows, groups = Windows.of(node), node.integer("group", 1)
    return lambda x, weight, bias=None: convolved(x, weight, bias, windows, groups)


@operator("ConvTranspose")
def conv_transpose(node: Node) -> Compute:
    windows, groups = Windows.of(node), node.integer("group", 1)
    extra, wanted = node.integers("output_padding"), node.integers("output_shape")

    def call(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        kernel = weight.shape[2:]
        dims = len(kernel)
        strides, dilations = windows.strides or [1] * dims, windows.dilations or [1] * dims
        more = extra or [0] * dims
        pads = windows.pads if windows.pads and windows.auto == "NOTSET" else [0] * 2 * dims
        before, after = list(pads[:dims]), list(pads[dims:])
        whole = [
            stride * (size - 1) + apart * (k - 1) + 1 + m
            for stride, size, apart, k, m in zip(strides, x.shape[2:], dilations, kernel, more, strict=True)
        ]
        if wanted or windows.auto.startswith("SAME"):
            shape = wanted[-dims:] if wanted else [s * n for s, n in zip(strides, x.shape[2:], strict=True)]
            totals = [full - size for full, size in zip(whole, shape, strict=True)]
            halves = [total // 2 for total in totals]
            others = [total - half for total, half in zip(totals, halves, strict=True)]
            before, after = (halves, others) if windows.auto == "SAME_UPPER" else (others, halves)
        if before == after and all(each >= 0 for each in before):
            return TRANSPOSED[dims](x, weight, bias, strides, before, more, groups, dilations)
        made = TRANSPOSED[dims](x, weight, bias, strides, 0, 0, groups, dilations)
        ends = [m - a for m, a in zip(more, after, strict=True)]
        return padded(made, [-each for each in before], ends)

    return call


@operator("DeformConv")
def deform_conv(node: Node) -> Compute:
    windows, groups, offsets = Windows.of(node), node.integer("group", 1), node.integer("offset_group", 1)

    def call(x: Tensor, weight: Tensor, offset: Tensor, bias: Any = None, mask: Any = None) -> Tensor:
        columns = _deformed(x, weight, offset, mask, windows, offsets)
        n, _, height, width = columns.shape[0], 0, offset.shape[2], offset.shape[3]
        out = weight.shape[0]
        parts = columns.reshape(n, groups, -1, height * width)
        kernel = weight.reshape(groups, out // groups, -1)
        made = polyad.matmul(kernel, parts).reshape(n, out, height, width)
        return made if bias is None else made + bias.reshape(-1, 1, 1)

    return call


def _deformed(x: Tensor, weight: Tensor, offset: Tensor, mask: Any, windows: Windows, groups: int) -> Tensor:
    """What the kernel sees at its moved places: (n, channels, kernel elements, height * width)."""
    n, channels = x.shape[:2]
    rows, columns = weight.shape[2:]
    strides, dilations, before, _ = windows.at(x.shape[2:], weight.shape[2:])
    height, width = offset.shape[2:]
    moved = offset.reshape(n, groups, rows * columns, 2, height, width)

    def places(count: int, stride: int, first: int) -> Tensor:
        return polyad.arange(count, device=x.device, dtype=x.dtype) * stride - first

    y = places(height, strides[0], before[0])[:, None] + moved[:, :, :, 0]
    z = places(width, strides[1], before[1])[None, :] + moved[:, :, :, 1]
    inner = polyad.arange(rows * columns, device=x.device)
    y = y + ((inner // columns) * dilations[0]).to(x.dtype)[:, None, None]
    z = z + ((inner % columns) * dilations[1]).to(x.dtype)[:, None, None]
    # To the coordinates of grid_sample, of which -1 and 1 are the centres of the outermost elements.
    down = y * (2.0 / max(x.shape[2] - 1, 1)) - 1
    right = z * (2.0 / max(x.shape[3] - 1, 1)) - 1
    grid = polyad.stack([right, down], -1).reshape(n * groups, rows * columns, height * width, 2)
    parts = x.reshape(n * groups, channels // groups, *x.shape[2:])
    seen = F.grid_sample(parts, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
    seen = seen.reshape(n, groups, channels // groups, rows * columns, height * width)
    if mask is not None:
        seen = seen * mask.reshape(n, groups, 1, rows * columns, height * width)
    return seen.reshape(n, channels, rows * columns, height * width)
