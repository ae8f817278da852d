"""Layers that several of the models are made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import polyad
from polyad import Tensor, nn
from polyad.arguments import explain
from polyad.base.kinds import Probability

__all__ = ["Conv2dNormActivation", "SqueezeExcitation", "StochasticDepth", "make_divisible", "stochastic_depth"]

Layer = Callable[..., nn.Module]


def make_divisible(channels: float, divisor: int, least: int | None = None) -> int:
    """The multiple of *divisor* next to *channels*, at least *least*, and at least 0.9 of *channels*."""
    rounded = max(least or divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


class Conv2dNormActivation(nn.Sequential):
    """A convolution, a normalisation and an activation; the size stays but for the stride.

    Shapes: (n, in_channels, h, w) to (n, out_channels, ceil(h / stride), ceil(w / stride)), for odd kernels.

    >>> import polyad as torch
    >>> from polyad.vision.models.layers import Conv2dNormActivation
    >>> Conv2dNormActivation(3, 8, stride=2)(torch.zeros(1, 3, 7, 7)).shape
    polyad.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        layers: list[nn.Module] = [
            nn.Conv2d(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                (kernel_size - 1) // 2 * dilation if padding is None else padding,
                dilation=dilation,
                groups=groups,
                bias=norm_layer is None if bias is None else bias,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer() if inplace is None else activation_layer(inplace=inplace))
        super().__init__(*layers)
        self.out_channels = out_channels


class SqueezeExcitation(nn.Module):
    """Weighs channels by what two layers make of their means: https://arxiv.org/abs/1709.01507.

    >>> import polyad as torch
    >>> from polyad.vision.models.layers import SqueezeExcitation
    >>> SqueezeExcitation(8, 2)(torch.zeros(1, 8, 4, 4)).shape
    polyad.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        scale = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return input * self.scale_activation(scale)


def stochastic_depth(input: Tensor, p: Probability, mode: Literal["batch", "row"], training: bool = True) -> Tensor:
    """*input* with samples set to zero with probability *p*, the others divided by 1 - p.

    Args:
        mode: "row" draws for each sample, "batch" once for all of them.

    Raises:
        ValueError: *p* outside [0, 1], another *mode*.

    Source: https://arxiv.org/abs/1603.09382.

    >>> import polyad as torch
    >>> from polyad.vision.models.layers import stochastic_depth
    >>> stochastic_depth(torch.ones(2, 3), 0.0, "row").sum().item()
    6.0
    """
    if not training or p == 0.0:
        return input
    shape = [input.shape[0] if mode == "row" else 1] + [1] * (input.dim() - 1)
    kept = polyad.empty(shape, dtype=input.dtype, device=input.device).bernoulli_(1.0 - p)
    return input * (kept / (1.0 - p) if p < 1.0 else kept)


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a module.

    >>> from polyad.vision.models.layers import StochasticDepth
    >>> StochasticDepth(0.2, "row")
    StochasticDepth(p=0.2, mode=row)
    """

    def __init__(self, p: Probability, mode: Literal["batch", "row"]) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode}"


def batch_norm(eps: float, momentum: float) -> Any:
    """Batch normalisation with other constants."""
    return partial(nn.BatchNorm2d, eps=eps, momentum=momentum)


def zero_bias(module: nn.Conv2d | nn.Linear | nn.BatchNorm2d | nn.GroupNorm) -> None:
    """Let the bias begin with zero, where there is one."""
    if module.bias is not None:
        nn.init.zeros_(module.bias)


def initialize_convolutions(model: nn.Module) -> None:
    """He's normal initialisation by what goes out; normalisations begin as identities, biases with zero."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            zero_bias(module)
        elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
            if module.weight is not None:
                nn.init.ones_(module.weight)
            zero_bias(module)


explain(globals())
