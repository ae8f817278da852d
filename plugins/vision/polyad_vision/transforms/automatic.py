"""Augmentation that needs no tuning: RandAugment (https://arxiv.org/abs/1909.13719) and TrivialAugment
(https://arxiv.org/abs/2103.10158), which choose among operations of the same list, with torchvision's strengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polyad
from polyad import nn
from polyad.arguments import explain
from polyad.base.kinds import Count
from polyad.errors import ArgumentError

from . import functional as F
from .inputs import InterpolationMode, size_of

__all__ = ["RandAugment", "TrivialAugmentWide"]

NEAREST = InterpolationMode.NEAREST
GEOMETRIC = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
COLORS: Mapping[str, Callable[[Any, float], Any]] = {
    "Brightness": lambda img, strength: F.adjust_brightness(img, 1.0 + strength),
    "Color": lambda img, strength: F.adjust_saturation(img, 1.0 + strength),
    "Contrast": lambda img, strength: F.adjust_contrast(img, 1.0 + strength),
    "Sharpness": lambda img, strength: F.adjust_sharpness(img, 1.0 + strength),
    "Posterize": lambda img, strength: F.posterize(img, int(strength)),
    "Solarize": F.solarize,
    "AutoContrast": lambda img, strength: F.autocontrast(img),
    "Equalize": lambda img, strength: F.equalize(img),
}


class Range(NamedTuple):
    """How strong an operation is at the least and the greatest magnitude, and whether it goes in both directions."""

    least: float
    most: float
    signed: bool = False
    posterizes: bool = False

    def at(self, magnitude: int, bins: int) -> float:
        """The strength at one of *bins* magnitudes."""
        if self.posterizes:
            return self.least - round(magnitude / ((bins - 1) / (self.least - self.most)))
        return self.least + (self.most - self.least) * magnitude / (bins - 1)


def apply(img: Any, name: str, strength: float, interpolation: InterpolationMode, fill: Any) -> Any:
    """What the operation *name* makes of *img*."""
    if name == "Identity":
        return img
    if name not in GEOMETRIC:
        return COLORS[name](img, strength)
    if name == "Rotate":
        return F.rotate(img, strength, interpolation, fill=fill)
    options: dict[str, Any] = {"angle": 0.0, "translate": [0, 0], "scale": 1.0, "shear": [0.0, 0.0]}
    if name.startswith("Translate"):
        options["translate"] = [int(strength), 0] if name == "TranslateX" else [0, int(strength)]
    else:  # about the corner, as Pillow shears
        degrees = math.degrees(math.atan(strength))
        options |= {"shear": [degrees, 0.0] if name == "ShearX" else [0.0, degrees], "center": [0, 0]}
    return F.affine(img, **options, interpolation=interpolation, fill=fill)


class _Automatic(nn.Module):
    """What the two have in common."""

    def __init__(self, bins: int, interpolation: InterpolationMode, fill: Any) -> None:
        super().__init__()
        if bins < 2:
            raise ArgumentError(f"{type(self).__name__}: num_magnitude_bins is {bins}", fix="pass at least 2")
        self.num_magnitude_bins, self.interpolation, self.fill = bins, interpolation, fill

    def ranges(self, height: int, width: int) -> Mapping[str, Range]:
        """The operations, and their strengths."""
        raise NotImplementedError

    def _once(self, img: Any, magnitude: int) -> Any:
        _, height, width = size_of(type(self).__name__, img)
        ranges = self.ranges(height, width)
        # One draw: which operation, and in which direction.
        number, sign = polyad.rand(2).tolist()
        name = list(ranges)[min(int(number * len(ranges)), len(ranges) - 1)]
        strength = ranges[name].at(magnitude, self.num_magnitude_bins)
        if ranges[name].signed and sign < 0.5:
            strength = -strength
        return apply(img, name, strength, self.interpolation, self.fill)


class RandAugment(_Automatic):
    """Operations that chance chooses, all of the same magnitude; of pictures and uint8 tensors.

    Args:
        num_ops: how many in a row.
        magnitude: from 0 to num_magnitude_bins - 1.

    Raises:
        ValueError: another *magnitude*.

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.RandAugment()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
    polyad.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_ops: Count = 2,
        magnitude: Count = 9,
        num_magnitude_bins: Count = 31,
        interpolation: InterpolationMode = NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(num_magnitude_bins, interpolation, fill)
        if not 0 <= magnitude < num_magnitude_bins:
            raise ArgumentError(
                f"RandAugment: magnitude {magnitude} of {num_magnitude_bins} bins", fix="pass a number below them"
            )
        self.num_ops, self.magnitude = num_ops, magnitude

    def ranges(self, height: int, width: int) -> Mapping[str, Range]:
        factor = Range(0.0, 0.9, True)
        return {
            "Identity": Range(0, 0), "ShearX": Range(0, 0.3, True), "ShearY": Range(0, 0.3, True),
            "TranslateX": Range(0, 150.0 / 331.0 * width, True), "TranslateY": Range(0, 150.0 / 331.0 * height, True),
            "Rotate": Range(0, 30.0, True), "Brightness": factor, "Color": factor, "Contrast": factor,
            "Sharpness": factor, "Posterize": Range(8, 4, posterizes=True), "Solarize": Range(255.0, 0.0),
            "AutoContrast": Range(0, 0), "Equalize": Range(0, 0),
        }  # fmt: skip

    def forward(self, img: Any) -> Any:
        for _ in range(self.num_ops):
            img = self._once(img, self.magnitude)
        return img


class TrivialAugmentWide(_Automatic):
    """An operation and its magnitude, both by chance; of pictures and uint8 tensors.

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.TrivialAugmentWide()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
    polyad.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_magnitude_bins: Count = 31,
        interpolation: InterpolationMode = NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(num_magnitude_bins, interpolation, fill)

    def ranges(self, height: int, width: int) -> Mapping[str, Range]:
        factor, way = Range(0.0, 0.99, True), Range(0.0, 32.0, True)
        return {
            "Identity": Range(0, 0), "ShearX": Range(0, 0.99, True), "ShearY": Range(0, 0.99, True), "TranslateX": way,
            "TranslateY": way, "Rotate": Range(0, 135.0, True), "Brightness": factor, "Color": factor,
            "Contrast": factor, "Sharpness": factor, "Posterize": Range(8, 2, posterizes=True),
            "Solarize": Range(255.0, 0.0), "AutoContrast": Range(0, 0), "Equalize": Range(0, 0),
        }  # fmt: skip

    def forward(self, img: Any) -> Any:
        magnitude = int(polyad.randint(0, self.num_magnitude_bins, (1,)).item())
        return self._once(img, magnitude)


explain(globals())
