"""Convolution layers (cross-correlation, as everywhere in deep learning).

To add a dimensionality, derive from `ConvNd` with the number of spatial dimensions and the functional form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ...arguments import check_choice, check_dims, check_divisible, check_type
from ...base.device import Device
from ...base.dtypes import DType
from ...base.kinds import PaddingMode, Positive, as_ints
from ...errors import ArgumentError, ArgumentTypeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvNd",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "ConvTransposeNd",
]

_PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class ConvNd(Module):
    """What the convolution layers have in common.

    Checked settings, weight (out_channels, in_channels / groups, *kernel_size) and bias (out_channels,).
    """

    spatial_dims: ClassVar[int]
    transposed: ClassVar[bool] = False
    _functional: ClassVar[str]
    """The name of the function that computes it."""

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    padding_mode: str
    output_padding: tuple[int, ...]
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
        groups: Positive = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        for argument, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                check_divisible(name, argument, channels, "groups", groups)
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
        self.output_padding = (0,) * self.spatial_dims
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
        self.weight = uninitialized(self._weight_shape(), device, dtype)
        if bias:
            self.bias = uninitialized((out_channels,), device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _sizes(self, argument: str, value: int | Sequence[int], least: int = 1) -> tuple[int, ...]:
        """One number a spatial dimension; a single number stands for all."""
        sizes = as_ints(value if isinstance(value, (tuple, list)) else (value,) * self.spatial_dims)
        name = type(self).__name__
        if sizes is None:
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
        return sizes

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.uniform_fan_in_(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Convolve *input* (N, in_channels, *) or (in_channels, *)."""
        convolve = getattr(F, self._functional)
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._pad, mode=_PADDING_MODES[self.padding_mode]), 0
        result: Tensor = convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
        return result

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if isinstance(self.padding, str) or any(self.padding):
            text += f", padding={self.padding}"
        if any(step != 1 for step in self.dilation):
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _describe(self) -> str:
        return f"{self._get_name()} {self.in_channels} -> {self.out_channels}, kernel {self.kernel_size}"


class Conv1d(ConvNd):
    """Convolves sequences: each result channel is a sum over input channels of the correlation with a learnt kernel.

    Shapes: input (N, in_channels, L) or (in_channels, L) -> the same with out_channels and
    L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1.
    weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number; so are *stride*, *padding* and *dilation*.
        stride: step of the kernel.
        padding: places around the input, or ``"same"`` (the result has the input's size), ``"valid"`` (none).
        dilation: distance between the kernel's elements.
        groups: split the channels into this many independent convolutions.
        bias: whether to add a learnt number to each result channel.
        padding_mode: what the padding holds: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Raises:
        ValueError: a setting is outside its range, or channels are not divisible by groups.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Conv1d(1, 6, kernel_size=5, padding="same")(polyad.zeros(2, 1, 28)).shape
    polyad.Size([2, 6, 28])
    """

    spatial_dims = 1
    _functional = "conv1d"


class Conv2d(ConvNd):
    """Convolves images: each result channel is a sum over input channels of the correlation with a learnt kernel.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W) -> the same with out_channels and
    H_out = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; W likewise.
    weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number, or (height, width); so are *stride*, *padding* and *dilation*.
        stride: step of the kernel.
        padding: places around the input, or ``"same"`` (the result has the input's size), ``"valid"`` (none).
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
    _functional = "conv2d"


class Conv3d(ConvNd):
    """Convolves volumes: each result channel is a sum over input channels of the correlation with a learnt kernel.

    Shapes: input (N, in_channels, D, H, W) or (in_channels, D, H, W) -> the same with out_channels and
    D_out = (D + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; H and W likewise.
    weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number, or (depth, height, width); so are *stride*, *padding* and *dilation*.
        stride: step of the kernel.
        padding: places around the input, or ``"same"`` (the result has the input's size), ``"valid"`` (none).
        dilation: distance between the kernel's elements.
        groups: split the channels into this many independent convolutions.
        bias: whether to add a learnt number to each result channel.
        padding_mode: what the padding holds: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Raises:
        ValueError: a setting is outside its range, or channels are not divisible by groups.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Conv3d(1, 2, kernel_size=3, padding="same")(polyad.zeros(1, 1, 4, 5, 6)).shape
    polyad.Size([1, 2, 4, 5, 6])
    """

    spatial_dims = 3
    _functional = "conv3d"


class ConvTransposeNd(ConvNd):
    """What the transposed convolution layers have in common.

    weight (in_channels, out_channels / groups, *kernel_size) and bias (out_channels,).
    """

    transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: Positive = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: PaddingMode = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        name = type(self).__name__
        check_choice(name, "padding_mode", padding_mode, ("zeros",))
        check_type(name, "padding", padding, (int, tuple, list), f"a number or {self.spatial_dims} of them")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = self._sizes("output_padding", output_padding, least=0)

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What the result must be made larger by at the end, so that it has *output_size*."""
        if output_size is None:
            return self.output_padding
        check_tensor(input, type(self).__name__, "input")
        name, spatial = self._get_name(), input.shape[-self.spatial_dims :]
        check_dims(name, "input", input, (self.spatial_dims + 1, self.spatial_dims + 2))
        check_type(name, "output_size", output_size, (Sequence, Tensor), "a sequence of ints")
        wanted = tuple(int(size) for size in output_size)
        if len(wanted) == input.ndim:
            wanted = wanted[-self.spatial_dims :]
        if len(wanted) != self.spatial_dims:
            raise ArgumentError(
                f"{name}: output_size must have {self.spatial_dims} or {input.ndim} numbers, not {len(wanted)}",
                operands={"output_size": output_size, "input": input},
                fix="give the size of the last dimensions",
            )
        least = [
            (size - 1) * step - 2 * around + dilated * (kernel - 1) + 1
            for size, step, around, dilated, kernel in zip(
                spatial, self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride)]
        if not all(low <= size <= high for low, size, high in zip(least, wanted, most)):
            raise ArgumentError(
                f"{name}: output_size {wanted} cannot be had from this input: it must be between {tuple(least)} and "
                f"{tuple(most)}",
                operands={"input": input},
                fix="choose a size between these",
            )
        return tuple(size - low for size, low in zip(wanted, least))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Convolve *input*, to *output_size* if it is given."""
        convolve, more = getattr(F, self._functional), self._output_padding(input, output_size)
        rest = (self.stride, self.padding, more, self.groups, self.dilation)
        result: Tensor = convolve(input, self.weight, self.bias, *rest)
        return result


class ConvTranspose1d(ConvTransposeNd):
    """The gradient of `Conv1d` as a layer: it makes sequences larger, and is also called deconvolution.

    Shapes: input (N, in_channels, L) or (in_channels, L) -> the same with out_channels and
    L_out = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1.
    weight (in_channels, out_channels / groups, *kernel_size), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number; so are *stride*, *padding*, *output_padding* and *dilation*.
        stride: distance of the input's elements in the result.
        padding: places that the result loses at each side.
        output_padding: places that the result has more at the end; less than the stride or the dilation.
        groups: split the channels into this many independent convolutions.
        bias: whether to add a learnt number to each result channel.
        dilation: distance between the kernel's elements.
        padding_mode: ``"zeros"``.

    ``forward`` takes *output_size* besides: the result's size, from which the output padding follows.

    Raises:
        ValueError: a setting is outside its range, or channels are not divisible by groups.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ConvTranspose1d(16, 8, 3, stride=2, padding=1)(polyad.zeros(2, 16, 6), output_size=(12,)).shape
    polyad.Size([2, 8, 12])
    """

    spatial_dims = 1
    _functional = "conv_transpose1d"


class ConvTranspose2d(ConvTransposeNd):
    """The gradient of `Conv2d` as a layer: it makes images larger, and is also called deconvolution.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W) -> the same with out_channels and
    H_out = (H - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1; W likewise.
    weight (in_channels, out_channels / groups, *kernel_size), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number, or (height, width); so are *stride*, *padding*, *output_padding* and *dilation*.
        stride: distance of the input's elements in the result.
        padding: places that the result loses at each side.
        output_padding: places that the result has more at the end; less than the stride or the dilation.
        groups: split the channels into this many independent convolutions.
        bias: whether to add a learnt number to each result channel.
        dilation: distance between the kernel's elements.
        padding_mode: ``"zeros"``.

    ``forward`` takes *output_size* besides: the result's size, from which the output padding follows.

    Raises:
        ValueError: a setting is outside its range, or channels are not divisible by groups.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1)(polyad.zeros(2, 16, 6, 6), output_size=(12, 12)).shape
    polyad.Size([2, 8, 12, 12])
    """

    spatial_dims = 2
    _functional = "conv_transpose2d"


class ConvTranspose3d(ConvTransposeNd):
    """The gradient of `Conv3d` as a layer: it makes volumes larger, and is also called deconvolution.

    Shapes: input (N, in_channels, D, H, W) or (in_channels, D, H, W) -> the same with out_channels and
    D_out = (D - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1; H and W likewise.
    weight (in_channels, out_channels / groups, *kernel_size), bias (out_channels,).

    Args:
        in_channels: channels of the input; divisible by *groups*.
        out_channels: channels of the result; divisible by *groups*.
        kernel_size: a number, or (depth, height, width); so are *stride*, *padding*, *output_padding* and *dilation*.
        stride: distance of the input's elements in the result.
        padding: places that the result loses at each side.
        output_padding: places that the result has more at the end; less than the stride or the dilation.
        groups: split the channels into this many independent convolutions.
        bias: whether to add a learnt number to each result channel.
        dilation: distance between the kernel's elements.
        padding_mode: ``"zeros"``.

    ``forward`` takes *output_size* besides: the result's size, from which the output padding follows.

    Raises:
        ValueError: a setting is outside its range, or channels are not divisible by groups.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ConvTranspose3d(16, 8, 3, stride=2, padding=1)(polyad.zeros(1, 16, 2, 2, 3), output_size=(4, 4, 6)).shape
    polyad.Size([1, 8, 4, 4, 6])
    """

    spatial_dims = 3
    _functional = "conv_transpose3d"


# By these names code for PyTorch asks whether a layer is of the family.
_ConvNd = ConvNd
_ConvTransposeNd = ConvTransposeNd
