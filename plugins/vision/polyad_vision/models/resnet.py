"""ResNet, ResNeXt and Wide ResNet.

Sources: https://arxiv.org/abs/1512.03385, https://arxiv.org/abs/1611.05431, https://arxiv.org/abs/1605.07146.
The stride of a bottleneck is in its 3 x 3 convolution, as in the published weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polyad import Tensor, nn
from polyad.errors import ArgumentError, NotSupported

from .weights import Weights, with_weights

__all__ = [
    "BasicBlock", "Bottleneck", "ResNet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
    "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2",
]  # fmt: skip

Norm = Callable[[int], nn.Module]


def _conv(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(
        inputs, outputs, size, stride, dilation * (size // 2), dilation=dilation, groups=groups, bias=False
    )


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions, to which what came in is added."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ArgumentError(
                f"BasicBlock: groups {groups}, base_width {base_width}; it has one group of width 64",
                fix="use Bottleneck for groups and other widths",
            )
        if dilation > 1:
            raise NotSupported("BasicBlock: it has no dilation", fix="use Bottleneck")
        self.conv1 = _conv(inplanes, planes, 3, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv(planes, planes, 3)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    """Fewer channels, a 3 x 3 convolution of them, four times as many channels; what came in is added."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = _conv(inplanes, width, 1)
        self.bn1 = norm_layer(width)
        self.conv2 = _conv(width, width, 3, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = _conv(width, planes * self.expansion, 1)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    """Pictures (n, 3, h, w) to scores (n, num_classes).

    Args:
        block: `BasicBlock` or `Bottleneck`.
        layers: how many blocks each of the four stages has.
        zero_init_residual: every block begins as the identity.
        replace_stride_with_dilation: for each of the last three stages, whether it keeps its size and dilates instead.

    >>> import polyad as torch
    >>> from polyad.vision.models import resnet18
    >>> resnet18(num_classes=10).eval()(torch.zeros(1, 3, 32, 32)).shape
    polyad.Size([1, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        dilates = replace_stride_with_dilation or (False, False, False)
        if len(dilates) != 3:
            raise ArgumentError(
                f"ResNet: replace_stride_with_dilation is {dilates!r}", fix="pass None or three truth values"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0], 1, False)
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilates[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilates[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilates[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(module, BasicBlock | Bottleneck):
                last: Any = module.bn2 if isinstance(module, BasicBlock) else module.bn3
                nn.init.zeros_(last.weight)

    def _make_layer(
        self, block: type[BasicBlock] | type[Bottleneck], planes: int, blocks: int, stride: int, dilate: bool
    ) -> nn.Sequential:
        before = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        outputs = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(_conv(self.inplanes, outputs, 1, stride), self._norm_layer(outputs))
        shared = (self.groups, self.base_width)
        made = [block(self.inplanes, planes, stride, downsample, *shared, before, self._norm_layer)]
        self.inplanes = outputs
        made += [block(outputs, planes, 1, None, *shared, self.dilation, self._norm_layer) for _ in range(1, blocks)]
        return nn.Sequential(*made)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-18."""
    return with_weights(ResNet(BasicBlock, [2, 2, 2, 2], **kwargs), weights, "resnet18")


def resnet34(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-34."""
    return with_weights(ResNet(BasicBlock, [3, 4, 6, 3], **kwargs), weights, "resnet34")


def resnet50(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-50."""
    return with_weights(ResNet(Bottleneck, [3, 4, 6, 3], **kwargs), weights, "resnet50")


def resnet101(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-101."""
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **kwargs), weights, "resnet101")


def resnet152(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-152."""
    return with_weights(ResNet(Bottleneck, [3, 8, 36, 3], **kwargs), weights, "resnet152")


def resnext50_32x4d(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNeXt-50 with 32 groups of 4 channels."""
    kwargs = {"groups": 32, "width_per_group": 4, **kwargs}
    return with_weights(ResNet(Bottleneck, [3, 4, 6, 3], **kwargs), weights, "resnext50_32x4d")


def resnext101_32x8d(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNeXt-101 with 32 groups of 8 channels."""
    kwargs = {"groups": 32, "width_per_group": 8, **kwargs}
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **kwargs), weights, "resnext101_32x8d")


def resnext101_64x4d(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNeXt-101 with 64 groups of 4 channels."""
    kwargs = {"groups": 64, "width_per_group": 4, **kwargs}
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **kwargs), weights, "resnext101_64x4d")


def wide_resnet50_2(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-50 whose bottlenecks have twice the channels."""
    kwargs = {"width_per_group": 128, **kwargs}
    return with_weights(ResNet(Bottleneck, [3, 4, 6, 3], **kwargs), weights, "wide_resnet50_2")


def wide_resnet101_2(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-101 whose bottlenecks have twice the channels."""
    kwargs = {"width_per_group": 128, **kwargs}
    return with_weights(ResNet(Bottleneck, [3, 4, 23, 3], **kwargs), weights, "wide_resnet101_2")
