"""Convolution layers (cross-correlation, as everywhere in deep learning).

To add a dimensionality, derive from `ConvNd` with the number of spatial dimensions and the functional form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from ...device import Device
from ...dtypes import DType
from ...errors import ArgumentError, ArgumentTypeError, safe_repr
from ...tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["Conv2d", "ConvNd"]

_PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class ConvNd(Module):
    """What the convolution layers have in common.

    Checked settings, weight (out_channels, in_channels / groups, *kernel_size) and bias (out_channels,).
    """

    spatial_dims: ClassVar[int]

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if groups <= 0:
            raise ArgumentError(f"{name}: groups must be positive", operands={"groups": groups}, fix="pass 1 or more")
        for argument, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ArgumentError(
                    f"{name}: {argument} must be divisible by groups: {channels} % {groups} = {channels % groups}",
                    operands={argument: channels, "groups": groups},
                    fix=f"choose groups among the divisors of {argument}",
                )
        if not isinstance(padding_mode, str) or padding_mode not in _PADDING_MODES:
            raise ArgumentError(
                f"{name}: unknown padding_mode {safe_repr(padding_mode)}", fix=f"use one of {', '.join(_PADDING_MODES)}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride = self._sizes("stride", stride)
        self.dilation = self._sizes("dilation", dilation)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ArgumentError(
                    f"{name}: unknown padding {safe_repr(padding)}", fix="use 'same', 'valid' or numbers"
                )
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ArgumentError(
                    f"{name}: padding='same' needs a stride of 1",
                    operands={"stride": self.stride},
                    fix="give the padding as numbers",
                )
            self.padding = padding
        else:
            self.padding = self._sizes("padding", padding, least=0)
        self.groups = groups
        self.padding_mode = padding_mode
        # Before and after each spatial dimension, the last dimension first: what `pad` takes.
        self._pad: list[int] = []
        for kernel, dilated, amount in zip(
            self.kernel_size[::-1],
            self.dilation[::-1],
            (None,) * self.spatial_dims if isinstance(self.padding, str) else self.padding[::-1],
        ):
            if amount is None:
                total = dilated * (kernel - 1) if self.padding == "same" else 0
                self._pad += [total // 2, total - total // 2]
            else:
                self._pad += [amount, amount]
        self.weight = uninitialized((out_channels, in_channels // groups, *self.kernel_size), device, dtype)
        if bias:
            self.bias = uninitialized((out_channels,), device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _sizes(self, argument: str, value: int | Sequence[int], least: int = 1) -> tuple[int, ...]:
        """One number a spatial dimension; a single number stands for all."""
        sizes = (value,) * self.spatial_dims if isinstance(value, int) else value
        name = type(self).__name__
        if not isinstance(sizes, (tuple, list)) or not all(isinstance(size, int) for size in sizes):
            raise ArgumentTypeError(
                f"{name}: {argument} must be an int or {self.spatial_dims} of them",
                operands={argument: value},
                fix=f"pass an int as {argument}",
            )
        if len(sizes) != self.spatial_dims or min(sizes) < least:
            raise ArgumentError(
                f"{name}: {argument} must be {self.spatial_dims} numbers of at least {least}",
                operands={argument: value},
                fix=f"choose a larger {argument}",
            )
        return tuple(sizes)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.uniform_fan_in_(self.bias, self.weight)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if isinstance(self.padding, str) or any(self.padding):
            text += f", padding={self.padding}"
        if any(step != 1 for step in self.dilation):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _describe(self) -> str:
        return f"{self._get_name()} {self.in_channels} -> {self.out_channels}, kernel {self.kernel_size}"


class Conv2d(ConvNd):
    """Convolves images: each result channel is a sum over input channels of the correlation with a learnt kernel.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W) -> the same with out_channels and
    H_out = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; W likewise.
    weight (out_channels, in_channels / groups, kernel height, kernel width), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number, or (height, width); so are *stride*, *padding* and *dilation*.
        stride: step of the kernel.
        padding: rows and columns around the image, or ``"same"`` (the result has the input's size), ``"valid"`` (none).
        dilation: distance between the kernel's elements.
        groups: split the channels into this many independent convolutions.
        bias: whether to add a learnt number to each result channel.
        padding_mode: what the padding holds: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Raises:
        ValueError: a setting is outside its range, or channels are not divisible by groups.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Conv2d(1, 6, kernel_size=5, padding="same")(polyad.zeros(2, 1, 28, 28)).shape
    polyad.Size([2, 6, 28, 28])
    """

    spatial_dims = 2

    def forward(self, input: Tensor) -> Tensor:
        """Convolve *input* (N, in_channels, H, W) or (in_channels, H, W)."""
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._pad, mode=_PADDING_MODES[self.padding_mode])
            return F.conv2d(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
