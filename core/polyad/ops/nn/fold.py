"""Patches: images cut into overlapping patches and put together again.

`im2col` and `col2im` are each other's gradients, and work in any number of spatial dimensions; PyTorch shows them for
two.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Shape, contiguous_strides, window_count
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient
from ...dispatch.structure import contraction, shaping
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import zeros
from ..declaring.half_types import half_to_float32
from ..declaring.windows import Sizes, per_axis
from ..memory.copying import _copy
from .padding import _pad_constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    PerAxis = int | Sequence[int]


def _counts(size: Shape, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Sizes:
    return tuple([window_count(*settings) for settings in zip(size, kernel, stride, padding, dilation, strict=True)])


def _columns_shape(input: Shape, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Shape:
    counts = _counts(input[2:], kernel, dilation, padding, stride)
    return (input[0], input[1] * math.prod(kernel), math.prod(counts))


def _images_shape(input: Shape, size: Sizes, kernel: Sizes, *rest: Any) -> Shape:
    return (input[0], input[1] // math.prod(kernel), *size)


@composite(structure=shaping, shape=_columns_shape, method=False)
def _im2col(input: Tensor, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Tensor:
    """The windows of (N, C, *spatial) as columns: (N, C * kernel positions, windows)."""
    images, channels, *size = input._array.shape
    counts = _counts(tuple(size), kernel, dilation, padding, stride)
    if any(padding):
        input = _pad_constant(input, (0, 0, 0, 0, *[side for amount in padding for side in (amount, amount)]), 0)
    ahead, pitches = input.stride()[:2], input.stride()[2:]
    windows = input.as_strided(
        (images, channels, *kernel, *counts),
        (
            *ahead,
            *[spacing * pitch for spacing, pitch in zip(dilation, pitches, strict=True)],
            *[step * pitch for step, pitch in zip(stride, pitches, strict=True)],
        ),
        input.storage_offset(),
    )
    return _copy(windows).reshape(images, channels * math.prod(kernel), math.prod(counts))


@composite(structure=contraction, shape=_images_shape, method=False)
def _col2im(input: Tensor, size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Tensor:
    """Columns (N, C * kernel positions, windows) added up at their windows' places in (N, C, *size)."""
    images, depth = input._array.shape[:2]
    channels = depth // math.prod(kernel)
    counts = _counts(size, kernel, dilation, padding, stride)
    wide = half_to_float32(input)
    parts = wide.reshape(images, channels, *kernel, *counts)
    whole = [have + 2 * amount for have, amount in zip(size, padding, strict=True)]
    out = zeros(images, channels, *whole, dtype=wide.dtype, device=input.device)
    pitches = contiguous_strides((images, channels, *whole))
    steps = [step * pitch for step, pitch in zip(stride, pitches[2:], strict=True)]
    for position in itertools.product(*map(range, kernel)):
        start = sum([at * spacing * pitch for at, spacing, pitch in zip(position, dilation, pitches[2:], strict=True)])
        place = out.as_strided((images, channels, *counts), (*pitches[:2], *steps), start)
        place.add_(parts[(slice(None), slice(None), *position)])
    if any(padding):
        out = _pad_constant(out, (0, 0, 0, 0, *[side for amount in padding for side in (-amount, -amount)]), 0)
    return out.to(input.dtype)


gradient(
    _im2col,
    input=lambda g, input_shape, kernel, dilation, padding, stride: _col2im(
        g, input_shape[2:], kernel, dilation, padding, stride
    ),
)
linear_in(_im2col, "input")
gradient(
    _col2im,
    input=lambda g, kernel, dilation, padding, stride: _im2col(g, kernel, dilation, padding, stride),
)
linear_in(_col2im, "input")


def _settings(op: str, input: Any, *given: Any) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    check_tensor(input, op, "input")
    kernel, dilation, padding, stride = given
    return (
        per_axis(kernel, op, "kernel_size", 2, 1),
        per_axis(dilation, op, "dilation", 2, 1),
        per_axis(padding, op, "padding", 2),
        per_axis(stride, op, "stride", 2, 1),
    )


def _checked_counts(op: str, input: Tensor, size: Shape, settings: tuple[Sizes, Sizes, Sizes, Sizes]) -> Sizes:
    counts = _counts(size, *settings)
    if min(counts) < 1:
        raise ShapeError(
            f"{op}: no window of {settings[0]} dilated by {settings[1]} fits {tuple(size)} padded by {settings[2]}",
            operands={"input": input},
            fix="use a smaller kernel_size, or more padding",
        )
    return counts


@function(method=False, namespace="nn.functional")
def unfold(
    input: Tensor, kernel_size: PerAxis, dilation: PerAxis = 1, padding: PerAxis = 0, stride: PerAxis = 1
) -> Tensor:
    """Cuts images into overlapping patches, each a column.

    Shapes: input (N, C, H, W) or (C, H, W) of any dtype -> (N, C * KH * KW, OH * OW) or without N, where
    OH = (H + 2 * padding - dilation * (KH - 1) - 1) // stride + 1, OW likewise. Settings are an int or (vertical,
    horizontal); the padding is zero. `fold` adds patches up again.

    Raises RuntimeError for shapes and settings that do not fit, TypeError for settings that are no ints.

    >>> import polyad
    >>> polyad.nn.functional.unfold(polyad.arange(6.0).reshape(1, 2, 3), (2, 2))
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    settings = _settings("unfold", input, kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise ShapeError(
            f"unfold: input is {tuple(shape)}, not (N, C, H, W) or (C, H, W) without empty dimensions",
            operands={"input": input},
            fix="give images",
        )
    _checked_counts("unfold", input, shape[-2:], settings)
    if len(shape) == 3:
        return _im2col(input.unsqueeze(0), *settings).squeeze(0)
    return _im2col(input, *settings)


@function(method=False, namespace="nn.functional")
def fold(
    input: Tensor,
    output_size: PerAxis,
    kernel_size: PerAxis,
    dilation: PerAxis = 1,
    padding: PerAxis = 0,
    stride: PerAxis = 1,
) -> Tensor:
    """Adds patches up to images: the transpose of `unfold`. Where patches overlap, the result is their sum.

    Shapes: input (N, C * KH * KW, OH * OW) or without N -> (N, C, *output_size) or without N; see `unfold`.

    Raises RuntimeError for shapes and settings that do not fit, TypeError for settings that are no ints.

    >>> import polyad
    >>> polyad.nn.functional.fold(polyad.ones(1, 4, 2), (2, 3), (2, 2))
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    settings = _settings("fold", input, kernel_size, dilation, padding, stride)
    size = per_axis(output_size, "fold", "output_size", 2, 1)
    shape, positions = input._array.shape, math.prod(settings[0])
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise ShapeError(
            f"fold: input is {tuple(shape)}, not (N, C * KH * KW, windows) or (C * KH * KW, windows)",
            operands={"input": input},
            fix="give what unfold gives",
        )
    if shape[-2] % positions:
        raise ShapeError(
            f"fold: input has {shape[-2]} rows, no multiple of the {positions} elements of kernel_size {settings[0]}",
            operands={"input": input},
            fix="give C * KH * KW rows",
        )
    counts = _checked_counts("fold", input, size, settings)
    if shape[-1] != math.prod(counts):
        raise ShapeError(
            f"fold: input has {shape[-1]} columns, but {counts} windows fit output_size {size}: {math.prod(counts)}",
            operands={"input": input},
            fix=f"give {math.prod(counts)} columns, or another output_size",
        )
    if len(shape) == 2:
        return _col2im(input.unsqueeze(0), size, *settings).squeeze(0)
    return _col2im(input, size, *settings)
