"""MobileNetV2: https://arxiv.org/abs/1801.04381."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polyad import Tensor, nn
from polyad.errors import ArgumentError

from .layers import Conv2dNormActivation, initialize_convolutions, make_divisible
from .weights import Weights, with_weights

__all__ = ["InvertedResidual", "MobileNetV2", "mobilenet_v2"]

# Of each stage: expansion, channels, blocks, stride of the first block.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """More channels, a convolution of each by itself, fewer channels; what came in is added where it fits."""

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: int,
        norm_layer: Callable[..., nn.Module] = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ArgumentError(f"InvertedResidual: stride is {stride}", fix="pass 1 or 2")
        hidden = round(inp * expand_ratio)
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, 1, **options))
        layers += [
            Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **options),
            nn.Conv2d(hidden, oup, 1, bias=False),
            norm_layer(oup),
        ]
        self.stride = stride
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self.use_res_connect = stride == 1 and inp == oup

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Pictures (n, 3, h, w) to scores (n, num_classes).

    Args:
        width_mult: what all numbers of channels are multiplied by.
        inverted_residual_setting: of each stage: expansion, channels, blocks, stride of the first block.
        round_nearest: numbers of channels are multiples of it.

    >>> import polyad as torch
    >>> from polyad.vision.models import mobilenet_v2
    >>> mobilenet_v2(num_classes=10).eval()(torch.zeros(1, 3, 32, 32)).shape
    polyad.Size([1, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        stages = STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not stages or any(len(stage) != 4 for stage in stages):
            raise ArgumentError(
                f"MobileNetV2: inverted_residual_setting is {stages!r}",
                fix="pass four numbers for each stage: expansion, channels, blocks, stride",
            )
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        inputs = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [Conv2dNormActivation(3, inputs, stride=2, **options)]
        for expansion, channels, blocks, stride in stages:
            outputs = make_divisible(channels * width_mult, round_nearest)
            for number in range(blocks):
                step = 1 if number else stride
                features.append(block(inputs, outputs, step, expand_ratio=expansion, norm_layer=norm_layer))
                inputs = outputs
        features.append(Conv2dNormActivation(inputs, self.last_channel, 1, **options))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        initialize_convolutions(self)
        nn.init.normal_(self.classifier[1].weight, 0, 0.01)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(x.flatten(1))


def mobilenet_v2(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> MobileNetV2:
    """MobileNetV2."""
    return with_weights(MobileNetV2(**kwargs), weights, "mobilenet_v2")
