"""Windows of images as columns, and columns added up to images."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates
from ..translating import unsizable
from .views import window_places


@translates("im2col")
def im2col(
    to: Any,
    input: Any,
    kernel: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    stride: tuple[int, ...],
) -> Any:
    """The windows of (N, C, H, W) as columns."""
    batch, channels, *size = to.sizes_of(to.node.args[0])
    if any(padding):
        pads = to.ints(0, 0, *padding, 0, 0, *padding)
        input = to.op("Pad", input, pads, to.constant(0, to.result.dtype))
    for dim in (0, 1):
        count = (size[dim] + 2 * padding[dim] - dilation[dim] * (kernel[dim] - 1) - 1) // stride[dim] + 1
        steps = torch.arange(kernel[dim]).mul(dilation[dim])
        input = to.op("Gather", input, window_places(to, count, stride[dim], steps), axis=2 + 2 * dim)
    # (N, C, rows, kernel, columns, kernel)
    moved = to.op("Transpose", input, perm=[0, 1, 3, 5, 2, 4])
    return to.op("Reshape", moved, to.sizes([batch, channels * kernel[0] * kernel[1], -1]))


@translates("col2im", since=18)
def col2im(
    to: Any,
    input: Any,
    size: tuple[Any, ...],
    kernel: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    stride: tuple[int, ...],
) -> Any:
    """Columns added up where the windows were."""
    return to.op(
        "Col2Im",
        input,
        to.sizes(size),
        to.ints(*kernel),
        dilations=list(dilation),
        pads=[*padding, *padding],
        strides=list(stride),
    )


@translates("col2im")
def columns_by_matrix(
    to: Any,
    input: Any,
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    stride: tuple[int, ...],
) -> Any:
    """The same before there was an operator: a product with the matrix that says where each place of a column goes."""
    batch, channels = to.result.sizes[:2]
    if not all(isinstance(one, int) for one in size):
        raise unsizable("col2im", to.node)
    area = size[0] * size[1]
    images = torch.nn.functional.unfold(
        torch.eye(area).reshape(area, 1, *size), kernel, dilation=dilation, padding=padding, stride=stride
    )
    matrix = images.reshape(area, -1).t().to(to.result.dtype)
    rows = to.op("Reshape", input, to.sizes([batch, channels, matrix.shape[0]]))
    return to.op("Reshape", to.op("MatMul", rows, to.constant(matrix, None)), to.sizes([batch, channels, *size]))
