"""EfficientNet b0 to b7, and EfficientNetV2: https://arxiv.org/abs/1905.11946, https://arxiv.org/abs/2104.00298."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polyad import Tensor, nn
from polyad.errors import ArgumentError

from .layers import (
    Conv2dNormActivation,
    SqueezeExcitation,
    StochasticDepth,
    batch_norm,
    initialize_convolutions,
    make_divisible,
)
from .weights import Weights, with_weights

__all__ = [
    "EfficientNet", "FusedMBConv", "MBConv", "Stage", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2",
    "efficientnet_b3", "efficientnet_b4", "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_l",
    "efficientnet_v2_m", "efficientnet_v2_s",
]  # fmt: skip

Norm = Callable[..., nn.Module]


@dataclass(frozen=True)
class Stage:
    """Blocks alike: expansion, size of the kernel, stride of the first, channels in and out, how many, and whether
    expansion and convolution are fused.
    """

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    fused: bool = False


class MBConv(nn.Module):
    """More channels, a convolution of each by itself, weights for them, fewer channels; what came in is added where it
    fits.
    """

    def __init__(self, cnf: Stage, stochastic_depth_prob: float, norm_layer: Norm) -> None:
        super().__init__()
        _check_stride("MBConv", cnf)
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        inner = make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        layers: list[nn.Module] = []
        if inner != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, inner, 1, **options))
        layers += [
            Conv2dNormActivation(inner, inner, cnf.kernel, cnf.stride, groups=inner, **options),
            SqueezeExcitation(inner, max(1, cnf.input_channels // 4), activation=_silu),
            Conv2dNormActivation(inner, cnf.out_channels, 1, norm_layer=norm_layer, activation_layer=None),
        ]
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


class FusedMBConv(nn.Module):
    """A convolution to more channels, then fewer channels; what came in is added where it fits."""

    def __init__(self, cnf: Stage, stochastic_depth_prob: float, norm_layer: Norm) -> None:
        super().__init__()
        _check_stride("FusedMBConv", cnf)
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        inputs, outputs = cnf.input_channels, cnf.out_channels
        inner = make_divisible(inputs * cnf.expand_ratio, 8)
        if inner != inputs:
            self.block = nn.Sequential(
                Conv2dNormActivation(inputs, inner, cnf.kernel, cnf.stride, **options),
                Conv2dNormActivation(inner, outputs, 1, norm_layer=norm_layer, activation_layer=None),
            )
        else:
            self.block = nn.Sequential(Conv2dNormActivation(inputs, outputs, cnf.kernel, cnf.stride, **options))
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.use_res_connect = cnf.stride == 1 and inputs == outputs
        self.out_channels = outputs

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


def _silu() -> nn.Module:
    return nn.SiLU(inplace=True)


def _check_stride(name: str, cnf: Stage) -> None:
    if cnf.stride not in (1, 2):
        raise ArgumentError(f"{name}: stride is {cnf.stride}", fix="pass 1 or 2")


class EfficientNet(nn.Module):
    """Pictures (n, 3, h, w) to scores (n, num_classes).

    Args:
        inverted_residual_setting: the stages.
        stochastic_depth_prob: how likely the last block is left out of a sample; the first never is.
        last_channel: channels before the classifier; by default four times those of the last stage.

    >>> import polyad as torch
    >>> from polyad.vision.models import efficientnet_b0
    >>> efficientnet_b0(num_classes=10).eval()(torch.zeros(1, 3, 32, 32)).shape
    polyad.Size([1, 10])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[Stage],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Norm | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ArgumentError("EfficientNet: inverted_residual_setting is empty", fix="pass at least one stage")
        norm_layer = norm_layer or nn.BatchNorm2d
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        first, last = inverted_residual_setting[0], inverted_residual_setting[-1]
        layers: list[nn.Module] = [Conv2dNormActivation(3, first.input_channels, stride=2, **options)]
        total = sum(stage.num_layers for stage in inverted_residual_setting)
        number = 0
        for stage in inverted_residual_setting:
            blocks: list[nn.Module] = []
            for _ in range(stage.num_layers):
                cnf = replace(stage, input_channels=stage.out_channels, stride=1) if blocks else stage
                block = FusedMBConv if stage.fused else MBConv
                blocks.append(block(cnf, stochastic_depth_prob * number / total, norm_layer))
                number += 1
            layers.append(nn.Sequential(*blocks))
        outputs = 4 * last.out_channels if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(last.out_channels, outputs, 1, **options))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(outputs, num_classes))
        initialize_convolutions(self)
        bound = 1.0 / math.sqrt(num_classes)
        nn.init.uniform_(self.classifier[1].weight, -bound, bound)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


# Of b0: expansion, kernel, stride, channels in and out, blocks.
B0 = (
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
)
# What b0's channels and blocks are multiplied by, and the probability of dropout.
SCALES = {
    "b0": (1.0, 1.0, 0.2),
    "b1": (1.0, 1.1, 0.2),
    "b2": (1.1, 1.2, 0.3),
    "b3": (1.2, 1.4, 0.3),
    "b4": (1.4, 1.8, 0.4),
    "b5": (1.6, 2.2, 0.4),
    "b6": (1.8, 2.6, 0.5),
    "b7": (2.0, 3.1, 0.5),
}
# Of version 2: dropout, and its stages, the fused ones first.
V2 = {
    "s": (0.2, 3, ((1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4), (4, 3, 2, 64, 128, 6),
                   (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15))),
    "m": (0.3, 3, ((1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5), (4, 3, 2, 80, 160, 7),
                   (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5))),
    "l": (0.4, 3, ((1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7), (4, 3, 2, 96, 192, 10),
                   (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7))),
}  # fmt: skip


def _first(name: str, weights: Weights, kwargs: dict[str, Any], norm_layer: Norm | None = None) -> EfficientNet:
    width, depth, dropout = SCALES[name]
    stages = [
        Stage(
            expansion,
            kernel,
            stride,
            make_divisible(inputs * width, 8),
            make_divisible(outputs * width, 8),
            math.ceil(blocks * depth),
        )
        for expansion, kernel, stride, inputs, outputs, blocks in B0
    ]
    kwargs = {"dropout": dropout, "norm_layer": norm_layer, **kwargs}
    return with_weights(EfficientNet(stages, **kwargs), weights, f"efficientnet_{name}")


def _second(name: str, weights: Weights, kwargs: dict[str, Any]) -> EfficientNet:
    dropout, fused, rows = V2[name]
    stages = [Stage(*row, fused=number < fused) for number, row in enumerate(rows)]
    kwargs = {"dropout": dropout, "norm_layer": batch_norm(1e-3, 0.1), "last_channel": 1280, **kwargs}
    return with_weights(EfficientNet(stages, **kwargs), weights, f"efficientnet_v2_{name}")


def efficientnet_b0(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B0."""
    return _first("b0", weights, kwargs)


def efficientnet_b1(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B1."""
    return _first("b1", weights, kwargs)


def efficientnet_b2(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B2."""
    return _first("b2", weights, kwargs)


def efficientnet_b3(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B3."""
    return _first("b3", weights, kwargs)


def efficientnet_b4(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B4."""
    return _first("b4", weights, kwargs)


def efficientnet_b5(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B5."""
    return _first("b5", weights, kwargs, batch_norm(0.001, 0.01))


def efficientnet_b6(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B6."""
    return _first("b6", weights, kwargs, batch_norm(0.001, 0.01))


def efficientnet_b7(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNet-B7."""
    return _first("b7", weights, kwargs, batch_norm(0.001, 0.01))


def efficientnet_v2_s(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNetV2-S."""
    return _second("s", weights, kwargs)


def efficientnet_v2_m(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNetV2-M."""
    return _second("m", weights, kwargs)


def efficientnet_v2_l(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> EfficientNet:
    """EfficientNetV2-L."""
    return _second("l", weights, kwargs)
