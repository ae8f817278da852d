"""The deformable convolution (https://arxiv.org/abs/1811.11168): what each tap reads lies between pixels, where an
offset of its own says, and is weighted by a mask of its own.
"""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import ShapeError

_ELEMENTS = 2**24
"""About how many elements of columns are made at once."""


def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int,
    pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """The convolution of *input* (pictures, channels, rows, columns) by *weight*, read where *offset* (pictures,
    2 * offset_groups * taps, out rows, out columns) says.

    Raises RuntimeError for shapes that do not fit.
    """
    taps = weight.shape[2] * weight.shape[3]
    out = _out_size(input, weight, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    _check(input, weight, offset, mask if use_mask else None, groups, offset_groups, out)
    step = max(1, _ELEMENTS // max(1, input.shape[1] * taps * out[0] * out[1]))
    results = []
    for begin in range(0, len(input), step):
        part = slice(begin, begin + step)
        shifts = offset[part].unflatten(1, (offset_groups, taps, 2))
        rows, columns = (
            _grid(input, weight.shape[2:], out, axis, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
            + shifts[:, :, :, axis]
            for axis in (0, 1)
        )
        read = _read(input[part], rows, columns)
        if use_mask:
            read = read * mask[part].unflatten(1, (offset_groups, taps))[..., None]
        # (pictures, offset groups, taps, out, channels of a group) -> (pictures, groups, channels * taps, out)
        read = read.flatten(3, 4).permute(0, 1, 4, 2, 3)
        read = read.reshape(len(read), groups, -1, out[0] * out[1])
        results.append(weight.view(groups, len(weight) // groups, -1) @ read)
    result = polyad.cat(results) if results else input.new_zeros(0, len(weight), 1)
    return result.view(len(input), len(weight), *out) + bias.view(-1, 1, 1)


def deform_conv2d_backward(grad: Tensor, *args: Any) -> tuple[Tensor, ...]:
    """The gradients of `deform_conv2d` by its five tensors, through its own ops."""
    with polyad.enable_grad():
        tensors = [tensor.detach().requires_grad_() for tensor in args[:5]]
        result = deform_conv2d(*tensors, *args[5:])
    found: tuple[Any, ...] = polyad.autograd.grad(result, tensors, grad, allow_unused=True, materialize_grads=True)
    return found


def _out_size(
    input: Tensor, weight: Tensor, stride: tuple[int, int], pad: tuple[int, int], dilation: tuple[int, int]
) -> tuple[int, int]:
    rows, columns = (
        (input.shape[2 + n] + 2 * pad[n] - dilation[n] * (weight.shape[2 + n] - 1) - 1) // stride[n] + 1 for n in (0, 1)
    )
    return rows, columns


def _check(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor | None, groups: int, offset_groups: int,
    out: tuple[int, int],
) -> None:  # fmt: skip
    taps = weight.shape[2] * weight.shape[3]
    operands = {"input": input, "weight": weight, "offset": offset}
    wanted = {"offset": (offset, 2 * offset_groups * taps), "mask": (mask, offset_groups * taps)}
    if weight.shape[1] * groups != input.shape[1] or len(weight) % groups or input.shape[1] % max(1, offset_groups):
        raise ShapeError(
            f"deform_conv2d: channels do not fit weight, {groups} groups and {offset_groups} offset groups",
            operands=operands,
            fix="see torchvision.ops.deform_conv2d",
        )
    for name, (tensor, channels) in wanted.items():
        if tensor is not None and tuple(tensor.shape) != (len(input), channels, *out):
            raise ShapeError(
                f"deform_conv2d: {name} is {tuple(tensor.shape)}, not {(len(input), channels, *out)}",
                operands=operands,
                fix="give a number for each offset group, tap and place of the result",
            )


def _grid(
    input: Tensor, kernel: Any, out: tuple[int, int], axis: int, stride: tuple[int, int], pad: tuple[int, int],
    dilation: tuple[int, int],
) -> Tensor:  # fmt: skip
    """Where taps lie without an offset, along one axis: (taps, out rows or 1, out columns or 1)."""
    tap = polyad.arange(kernel[axis], dtype=input.dtype, device=input.device) * dilation[axis]
    tap = tap[:, None].expand(*kernel) if axis == 0 else tap.expand(*kernel)
    place = polyad.arange(out[axis], dtype=input.dtype, device=input.device) * stride[axis] - pad[axis]
    return tap.reshape(-1, 1, 1) + (place[:, None] if axis == 0 else place)


def _read(input: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pixels of *input* at places (pictures, groups, taps, out rows, out columns) between them, 0 outside, with the
    channels of a group behind.
    """
    pictures, channels, height, width = input.shape
    groups = rows.shape[1]
    table = input.view(pictures, groups, channels // groups, height, width).permute(0, 1, 3, 4, 2)
    table = table.reshape(-1, channels // groups)
    top, left = rows.detach().floor(), columns.detach().floor()
    down, right = rows - top, columns - left
    number = polyad.arange(pictures * groups, device=input.device).view(pictures, groups, 1, 1, 1)
    result: Tensor | None = None
    for row, by_row in ((top, 1 - down), (top + 1, down)):
        for column, by_column in ((left, 1 - right), (left + 1, right)):
            inside = (row >= 0) & (row <= height - 1) & (column >= 0) & (column <= width - 1)
            y, x = row.clamp(0, height - 1).to(polyad.int64), column.clamp(0, width - 1).to(polyad.int64)
            pixels = table.index_select(0, ((number * height + y) * width + x).flatten()).view(*y.shape, -1)
            part = (by_row * by_column * inside)[..., None] * pixels
            result = part if result is None else result + part
    assert result is not None
    return result
