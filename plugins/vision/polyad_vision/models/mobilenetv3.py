"""MobileNetV3: https://arxiv.org/abs/1905.02244."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polyad import Tensor, nn
from polyad.errors import ArgumentError

from .layers import (
    Conv2dNormActivation,
    SqueezeExcitation,
    batch_norm,
    initialize_convolutions,
    make_divisible,
    zero_bias,
)  # fmt: skip
from .weights import Weights, with_weights

__all__ = ["InvertedResidual", "InvertedResidualConfig", "MobileNetV3", "mobilenet_v3_large", "mobilenet_v3_small"]


@dataclass(frozen=True)
class InvertedResidualConfig:
    """A block: channels in, size of the kernel, channels inside and out, whether it has squeeze-and-excitation, its
    activation ("RE" or "HS"), stride and dilation.
    """

    input_channels: int
    kernel: int
    expanded_channels: int
    out_channels: int
    use_se: bool
    activation: str
    stride: int
    dilation: int = 1
    width_mult: float = 1.0

    def channels(self, count: int) -> int:
        """*count* channels at this width."""
        return make_divisible(count * self.width_mult, 8)


class InvertedResidual(nn.Module):
    """More channels, a convolution of each by itself, weights for them, fewer channels."""

    def __init__(self, cnf: InvertedResidualConfig, norm_layer: Callable[..., nn.Module]) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ArgumentError(f"InvertedResidual: stride is {cnf.stride}", fix="pass 1 or 2")
        inputs, inner, outputs = map(cnf.channels, (cnf.input_channels, cnf.expanded_channels, cnf.out_channels))
        activation = nn.Hardswish if cnf.activation == "HS" else nn.ReLU
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation}
        layers: list[nn.Module] = []
        if inner != inputs:
            layers.append(Conv2dNormActivation(inputs, inner, 1, **options))
        layers.append(
            Conv2dNormActivation(
                inner,
                inner,
                cnf.kernel,
                1 if cnf.dilation > 1 else cnf.stride,
                groups=inner,
                dilation=cnf.dilation,
                **options,
            )
        )
        if cnf.use_se:
            squeezed = make_divisible(inner // 4, 8)
            layers.append(SqueezeExcitation(inner, squeezed, scale_activation=nn.Hardsigmoid))
        layers.append(Conv2dNormActivation(inner, outputs, 1, norm_layer=norm_layer, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = outputs
        self.use_res_connect = cnf.stride == 1 and inputs == outputs

    def forward(self, input: Tensor) -> Tensor:
        return input + self.block(input) if self.use_res_connect else self.block(input)


class MobileNetV3(nn.Module):
    """Pictures (n, 3, h, w) to scores (n, num_classes).

    >>> import polyad as torch
    >>> from polyad.vision.models import mobilenet_v3_small
    >>> mobilenet_v3_small(num_classes=10).eval()(torch.zeros(1, 3, 32, 32)).shape
    polyad.Size([1, 10])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ArgumentError("MobileNetV3: inverted_residual_setting is empty", fix="pass at least one block")
        block, norm_layer = block or InvertedResidual, norm_layer or batch_norm(0.001, 0.01)
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        first, last = inverted_residual_setting[0], inverted_residual_setting[-1]
        outputs = last.channels(last.out_channels)
        self.features = nn.Sequential(
            Conv2dNormActivation(3, first.channels(first.input_channels), stride=2, **options),
            *(block(setting, norm_layer) for setting in inverted_residual_setting),
            Conv2dNormActivation(outputs, 6 * outputs, 1, **options),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * outputs, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        initialize_convolutions(self)
        for module in self.classifier:
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                zero_bias(module)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _setting(arch: str, width_mult: float, reduced_tail: bool, dilated: bool) -> tuple[list[Any], int]:
    config = partial(InvertedResidualConfig, width_mult=width_mult)
    reduce, dilation = (2 if reduced_tail else 1), (2 if dilated else 1)
    inner, tail = 960 // reduce if arch == "large" else 576 // reduce, (160 if arch == "large" else 96) // reduce
    if arch == "large":
        rows: list[tuple[Any, ...]] = [
            (16, 3, 16, 16, False, "RE", 1),
            (16, 3, 64, 24, False, "RE", 2),
            (24, 3, 72, 24, False, "RE", 1),
            (24, 5, 72, 40, True, "RE", 2),
            (40, 5, 120, 40, True, "RE", 1),
            (40, 5, 120, 40, True, "RE", 1),
            (40, 3, 240, 80, False, "HS", 2),
            (80, 3, 200, 80, False, "HS", 1),
            (80, 3, 184, 80, False, "HS", 1),
            (80, 3, 184, 80, False, "HS", 1),
            (80, 3, 480, 112, True, "HS", 1),
            (112, 3, 672, 112, True, "HS", 1),
            (112, 5, 672, tail, True, "HS", 2, dilation),
            (tail, 5, inner, tail, True, "HS", 1, dilation),
            (tail, 5, inner, tail, True, "HS", 1, dilation),
        ]
    else:
        rows = [
            (16, 3, 16, 16, True, "RE", 2),
            (16, 3, 72, 24, False, "RE", 2),
            (24, 3, 88, 24, False, "RE", 1),
            (24, 5, 96, 40, True, "HS", 2),
            (40, 5, 240, 40, True, "HS", 1),
            (40, 5, 240, 40, True, "HS", 1),
            (40, 5, 120, 48, True, "HS", 1),
            (48, 5, 144, 48, True, "HS", 1),
            (48, 5, 288, tail, True, "HS", 2, dilation),
            (tail, 5, inner, tail, True, "HS", 1, dilation),
            (tail, 5, inner, tail, True, "HS", 1, dilation),
        ]
    last = make_divisible((1280 if arch == "large" else 1024) // reduce * width_mult, 8)
    return [config(*row) for row in rows], last


def _mobilenet_v3(arch: str, weights: Weights, kwargs: dict[str, Any]) -> MobileNetV3:
    chosen = (kwargs.pop("width_mult", 1.0), kwargs.pop("reduced_tail", False), kwargs.pop("dilated", False))
    return with_weights(MobileNetV3(*_setting(arch, *chosen), **kwargs), weights, f"mobilenet_v3_{arch}")


def mobilenet_v3_large(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> MobileNetV3:
    """MobileNetV3, large."""
    return _mobilenet_v3("large", weights, kwargs)


def mobilenet_v3_small(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> MobileNetV3:
    """MobileNetV3, small."""
    return _mobilenet_v3("small", weights, kwargs)
