"""Channels moved to pixels and back (`pixel_shuffle`, `pixel_unshuffle`), and channels in another order."""

from __future__ import annotations

from typing import Any

from ...dispatch.op import alias, function
from ...errors import ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.windows import arranged
from ..memory.copying import _copy


def _factor(op: str, input: Any, name: str, value: Any, least_dims: int) -> int:
    check_tensor(input, op, "input")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(
            f"{op}: {name} is {safe_repr(value)}, not an int", operands={"input": input}, fix="pass an int"
        )
    if value < 1:
        raise ShapeError(f"{op}: {name} {value} must be at least 1", operands={"input": input}, fix="use 1 or more")
    if input.ndim < least_dims:
        raise ShapeError(
            f"{op}: input has {input.ndim} dimensions, fewer than {least_dims}",
            operands={"input": input},
            fix="give (..., C, H, W)",
        )
    return value


def _finished(result: Tensor, input: Tensor) -> Tensor:
    """A batch of images in memory as *input*."""
    return arranged(result, input) if len(input._array.shape) == 4 else result


@function(method=False, namespace="nn.functional")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Moves channels into pixels: r * r channels become an image r times as high and wide.

    Shapes: input (..., C * r * r, H, W) -> (..., C, H * r, W * r), any dtype. Raises RuntimeError where the channels do
    not divide, TypeError for a factor that is no int.

    >>> import polyad
    >>> polyad.nn.functional.pixel_shuffle(polyad.arange(4).reshape(4, 1, 1), 2)
    tensor([[[0, 1],
             [2, 3]]])
    """
    r = _factor("pixel_shuffle", input, "upscale_factor", upscale_factor, 3)
    *batch, channels, height, width = input._array.shape
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle: {channels} channels are no multiple of upscale_factor squared, {r * r}",
            operands={"input": input},
            fix="use a factor whose square divides the channels",
        )
    each, at = channels // (r * r), len(batch)
    parts = input.reshape(*batch, each, r, r, height, width)
    order = (*range(at), at, at + 3, at + 1, at + 4, at + 2)
    return _finished(_copy(parts.permute(order)).reshape(*batch, each, height * r, width * r), input)


@function(method=False, namespace="nn.functional")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Moves pixels into channels: the inverse of `pixel_shuffle`.

    Shapes: input (..., C, H * r, W * r) -> (..., C * r * r, H, W), any dtype. Raises RuntimeError where the sizes do
    not divide, TypeError for a factor that is no int.

    >>> import polyad
    >>> polyad.nn.functional.pixel_unshuffle(polyad.arange(4).reshape(1, 2, 2), 2).flatten()
    tensor([0, 1, 2, 3])
    """
    r = _factor("pixel_unshuffle", input, "downscale_factor", downscale_factor, 3)
    *batch, channels, height, width = input._array.shape
    if height % r or width % r:
        raise ShapeError(
            f"pixel_unshuffle: height {height} and width {width} must be multiples of downscale_factor {r}",
            operands={"input": input},
            fix="pad or crop the images",
        )
    at = len(batch)
    parts = input.reshape(*batch, channels, height // r, r, width // r, r)
    order = (*range(at), at, at + 2, at + 4, at + 1, at + 3)
    return _finished(_copy(parts.permute(order)).reshape(*batch, channels * r * r, height // r, width // r), input)


@function(method=False, namespace="nn.functional")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleaves groups of channels: channel c of group g becomes channel c * groups + g.

    Shapes: input (N, C, *) with at least one dimension more -> the same, any dtype. Raises RuntimeError for groups that
    do not divide the channels, TypeError for groups that are no int.

    >>> import polyad
    >>> polyad.nn.functional.channel_shuffle(polyad.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    groups = _factor("channel_shuffle", input, "groups", groups, 3)
    images, channels, *rest = input._array.shape
    if channels % groups:
        raise ShapeError(
            f"channel_shuffle: {channels} channels are no multiple of {groups} groups",
            operands={"input": input},
            fix="use a number of groups that divides the channels",
        )
    parts = input.reshape(images, groups, channels // groups, *rest)
    return _finished(_copy(parts.transpose(1, 2)).reshape(images, channels, *rest), input)


# PyTorch shows these in its main namespace, too.
alias("channel_shuffle", channel_shuffle, namespace="")
alias("pixel_shuffle", pixel_shuffle, namespace="")
alias("pixel_unshuffle", pixel_unshuffle, namespace="")
