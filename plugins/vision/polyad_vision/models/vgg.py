"""VGG with 11 to 19 layers, with and without batch normalisation: https://arxiv.org/abs/1409.1556."""

from __future__ import annotations

from typing import Any

from polyad import Tensor, nn

from .layers import zero_bias
from .weights import Weights, with_weights

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

CHANNELS = (64, 128, 256, 512, 512)
# How many convolutions stand before each of the five poolings.
CONVOLUTIONS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def make_layers(depth: int, batch_norm: bool = False) -> nn.Sequential:
    """The convolutions of the VGG with *depth* layers."""
    layers: list[nn.Module] = []
    inputs = 3
    for outputs, count in zip(CHANNELS, CONVOLUTIONS[depth]):
        for _ in range(count):
            layers.append(nn.Conv2d(inputs, outputs, 3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(outputs))
            layers.append(nn.ReLU(inplace=True))
            inputs = outputs
        layers.append(nn.MaxPool2d(2, stride=2))
    return nn.Sequential(*layers)


class VGG(nn.Module):
    """Pictures (n, 3, h, w) to scores (n, num_classes).

    >>> import polyad as torch
    >>> from polyad.vision.models.vgg import VGG, make_layers
    >>> with torch.device("meta"):
    ...     model = VGG(make_layers(11), num_classes=10, init_weights=False)
    >>> model(torch.empty(1, 3, 32, 32, device="meta")).shape
    polyad.Size([1, 10])
    """

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if not init_weights:
            return
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                zero_bias(module)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                zero_bias(module)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _vgg(depth: int, batch_norm: bool, weights: Weights, **kwargs: Any) -> VGG:
    if weights is not None:
        kwargs["init_weights"] = False
    model = VGG(make_layers(depth, batch_norm), **kwargs)
    return with_weights(model, weights, f"vgg{depth}_bn" if batch_norm else f"vgg{depth}")


def vgg11(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-11."""
    return _vgg(11, False, weights, **kwargs)


def vgg11_bn(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-11 with batch normalisation."""
    return _vgg(11, True, weights, **kwargs)


def vgg13(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-13."""
    return _vgg(13, False, weights, **kwargs)


def vgg13_bn(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-13 with batch normalisation."""
    return _vgg(13, True, weights, **kwargs)


def vgg16(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-16."""
    return _vgg(16, False, weights, **kwargs)


def vgg16_bn(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-16 with batch normalisation."""
    return _vgg(16, True, weights, **kwargs)


def vgg19(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-19."""
    return _vgg(19, False, weights, **kwargs)


def vgg19_bn(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-19 with batch normalisation."""
    return _vgg(19, True, weights, **kwargs)
