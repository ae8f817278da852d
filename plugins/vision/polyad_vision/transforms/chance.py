"""Transforms that draw: from polyad's default generator, which a `DataLoader` starts anew for each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import polyad
from polyad import Tensor, nn
from polyad.arguments import explain
from polyad.base.kinds import Probability, Sizes
from polyad.errors import ArgumentError

from . import functional as F
from .inputs import InterpolationMode, size_of

__all__ = [
    "ColorJitter", "GaussianBlur", "RandomAdjustSharpness", "RandomAffine", "RandomAutocontrast", "RandomCrop",
    "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomPosterize",
    "RandomResizedCrop", "RandomRotation", "RandomSolarize", "RandomVerticalFlip",
]  # fmt: skip

BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST


def uniform(low: float, high: float) -> float:
    """A number between *low* and *high*."""
    return float(polyad.empty(1).uniform_(float(low), float(high)).item())


def whole(low: int, high: int) -> int:
    """A whole number from *low* to *high* - 1."""
    return int(polyad.randint(low, high, (1,)).item())


class _Sometimes(nn.Module):
    """What `change` does, with probability p."""

    def __init__(self, p: Probability = 0.5) -> None:
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        raise NotImplementedError

    def forward(self, img: Any) -> Any:
        return self.change(img) if polyad.rand(1).item() < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomHorizontalFlip(_Sometimes):
    """Left and right exchanged, with probability p.

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.RandomHorizontalFlip(p=1.0)(torch.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    def change(self, img: Any) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(_Sometimes):
    """Top and bottom exchanged, with probability p."""

    def change(self, img: Any) -> Any:
        return F.vflip(img)


class RandomInvert(_Sometimes):
    """`functional.invert`, with probability p."""

    def change(self, img: Any) -> Any:
        return F.invert(img)


class RandomAutocontrast(_Sometimes):
    """`functional.autocontrast`, with probability p."""

    def change(self, img: Any) -> Any:
        return F.autocontrast(img)


class RandomEqualize(_Sometimes):
    """`functional.equalize`, with probability p."""

    def change(self, img: Any) -> Any:
        return F.equalize(img)


class RandomPosterize(_Sometimes):
    """`functional.posterize`, with probability p."""

    def __init__(self, bits: int, p: Probability = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def change(self, img: Any) -> Any:
        return F.posterize(img, self.bits)


class RandomSolarize(_Sometimes):
    """`functional.solarize`, with probability p."""

    def __init__(self, threshold: float, p: Probability = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def change(self, img: Any) -> Any:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(_Sometimes):
    """`functional.adjust_sharpness`, with probability p."""

    def __init__(self, sharpness_factor: float, p: Probability = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def change(self, img: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomGrayscale(_Sometimes):
    """Grey with as many channels, with probability p."""

    def __init__(self, p: Probability = 0.1) -> None:
        super().__init__(p)

    def change(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, size_of("RandomGrayscale", img)[0])


class RandomCrop(nn.Module):
    """A rectangle from anywhere.

    Args:
        size: (height, width), or of a square.
        padding: what is padded before; see `functional.pad`.
        pad_if_needed: smaller pictures are padded on both sides.

    Raises:
        ValueError: on a call, a picture that is too small.

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.RandomCrop(32, padding=4)(torch.zeros(3, 32, 32)).shape
    polyad.Size([3, 32, 32])
    """

    def __init__(
        self,
        size: Sizes,
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = F._pair("RandomCrop", "size", size)
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the rectangle."""
        _, rows, columns = size_of("RandomCrop", img)
        height, width = output_size
        if rows < height or columns < width:
            raise ArgumentError(
                f"RandomCrop: size {(height, width)} of a picture {(rows, columns)}",
                fix="pass pad_if_needed=True, a padding, or a smaller size",
            )
        if (rows, columns) == (height, width):
            return 0, 0, height, width
        return whole(0, rows - height + 1), whole(0, columns - width + 1), height, width

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, rows, columns = size_of("RandomCrop", img)
        if self.pad_if_needed and columns < self.size[1]:
            img = F.pad(img, [self.size[1] - columns, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and rows < self.size[0]:
            img = F.pad(img, [0, self.size[0] - rows], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding})"


class RandomResizedCrop(nn.Module):
    """A rectangle of random area and ratio, resized.

    Args:
        scale: of the area, as a part of the picture's.
        ratio: of width to height.

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.RandomResizedCrop(8)(torch.zeros(3, 20, 30)).shape
    polyad.Size([3, 8, 8])
    """

    def __init__(
        self,
        size: Sizes,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode = BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = F._pair("RandomResizedCrop", "size", size)
        if scale[0] > scale[1] or ratio[0] > ratio[1] or ratio[0] <= 0 or scale[0] < 0:
            raise ArgumentError(f"RandomResizedCrop: scale {scale}, ratio {ratio}", fix="pass (least, most) for each")
        self.scale, self.ratio, self.interpolation, self.antialias = scale, ratio, interpolation, antialias

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the rectangle."""
        _, rows, columns = size_of("RandomResizedCrop", img)
        low, high = math.log(ratio[0]), math.log(ratio[1])
        for _ in range(10):
            area = rows * columns * uniform(scale[0], scale[1])
            shape = math.exp(uniform(low, high))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= columns and 0 < height <= rows:
                return whole(0, rows - height + 1), whole(0, columns - width + 1), height, width
        height, width = rows, columns
        if columns / rows < min(ratio):
            height = round(columns / min(ratio))
        elif columns / rows > max(ratio):
            width = round(rows * max(ratio))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def forward(self, img: Any) -> Any:
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        return f"RandomResizedCrop(size={self.size}, scale={tuple(self.scale)}, ratio={tuple(self.ratio)})"


class ColorJitter(nn.Module):
    """Brightness, contrast, saturation and hue, changed by chance and in an order that chance chooses.

    Args:
        brightness, contrast, saturation: a number b for factors from max(0, 1 - b) to 1 + b; or (least, most).
        hue: a number h for -h to h, at most 0.5; or (least, most).

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.ColorJitter(0.2, 0.2, 0.2, 0.1)(torch.zeros(3, 2, 2)).sum().item()
    0.0
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = self._range("brightness", brightness)
        self.contrast = self._range("contrast", contrast)
        self.saturation = self._range("saturation", saturation)
        self.hue = self._range("hue", hue, 0.0, (-0.5, 0.5))

    @staticmethod
    def _range(
        name: str, value: Any, center: float = 1.0, bound: tuple[float, float] = (0.0, math.inf)
    ) -> tuple[float, float] | None:
        if isinstance(value, int | float | np.number):
            if value < 0:
                raise ArgumentError(f"ColorJitter: {name} is {value}", fix="pass a number that is not negative")
            low, high = center - value, center + value
            if name != "hue":
                low = max(low, 0.0)
        else:
            if len(value) != 2:
                raise ArgumentError(f"ColorJitter: {name} is {value}", fix="pass a number or (least, most)")
            low, high = (float(end) for end in value)
        if not bound[0] <= low <= high <= bound[1]:
            raise ArgumentError(f"ColorJitter: {name} is {value}", fix=f"stay between {bound[0]} and {bound[1]}")
        return None if low == high == center else (low, high)

    def forward(self, img: Any) -> Any:
        order = polyad.randperm(4).tolist()
        steps = (
            (F.adjust_brightness, self.brightness),
            (F.adjust_contrast, self.contrast),
            (F.adjust_saturation, self.saturation),
            (F.adjust_hue, self.hue),
        )
        factors = [None if ends is None else uniform(*ends) for _, ends in steps]
        for number in order:
            factor = factors[number]
            if factor is not None:
                img = steps[number][0](img, factor)
        return img

    def __repr__(self) -> str:
        return (
            f"ColorJitter(brightness={self.brightness}, contrast={self.contrast}, saturation={self.saturation}, "
            f"hue={self.hue})"
        )


def _angles(op: str, name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, int | float | np.number):
        if value < 0:
            raise ArgumentError(f"{op}: {name} is {value}", fix="pass a number that is not negative, or (least, most)")
        return -float(value), float(value)
    if len(value) != 2:
        raise ArgumentError(f"{op}: {name} is {value!r}", fix="pass a number or (least, most)")
    return float(value[0]), float(value[1])


class RandomRotation(nn.Module):
    """`functional.rotate` by an angle in -degrees to degrees, or between two."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode = NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = _angles("RandomRotation", "degrees", degrees)
        self.interpolation, self.expand, self.center, self.fill = interpolation, expand, center, fill

    def forward(self, img: Any) -> Any:
        return F.rotate(img, uniform(*self.degrees), self.interpolation, self.expand, self.center, self.fill)


class RandomAffine(nn.Module):
    """`functional.affine` by chance.

    Args:
        degrees: of the angle: -degrees to degrees, or (least, most).
        translate: the most, as parts of width and height.
        scale: (least, most).
        shear: along x, a number s for -s to s, or (least, most); four numbers are for x and y.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode = NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = _angles("RandomAffine", "degrees", degrees)
        if translate is not None and not all(0.0 <= part <= 1.0 for part in translate):
            raise ArgumentError(f"RandomAffine: translate is {translate!r}", fix="pass parts of 1 for x and y")
        if scale is not None and min(scale) <= 0:
            raise ArgumentError(f"RandomAffine: scale is {scale!r}", fix="pass positive numbers")
        self.shear: tuple[float, ...] | None = None
        if shear is not None:
            four = not isinstance(shear, int | float | np.number) and len(shear) == 4
            self.shear = tuple(shear) if four else _angles("RandomAffine", "shear", shear)  # type: ignore[arg-type]
        self.translate, self.scale, self.interpolation = translate, scale, interpolation
        self.fill, self.center = fill, center

    def forward(self, img: Any) -> Any:
        _, height, width = size_of("RandomAffine", img)
        angle = uniform(*self.degrees)
        move = [0, 0]
        if self.translate is not None:
            most = (self.translate[0] * width, self.translate[1] * height)
            move = [round(uniform(-end, end)) for end in most]
        scale = 1.0 if self.scale is None else uniform(*self.scale)
        shear = [0.0, 0.0]
        if self.shear is not None:
            shear[0] = uniform(self.shear[0], self.shear[1])
            if len(self.shear) == 4:
                shear[1] = uniform(self.shear[2], self.shear[3])
        return F.affine(img, angle, move, scale, shear, self.interpolation, self.fill, self.center)


class GaussianBlur(nn.Module):
    """`functional.gaussian_blur` with a sigma between two."""

    def __init__(self, kernel_size: Sizes, sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = F._pair("GaussianBlur", "kernel_size", kernel_size)
        ends = (sigma, sigma) if isinstance(sigma, int | float | np.number) else tuple(sigma)
        if any(size < 1 or size % 2 == 0 for size in self.kernel_size) or not 0 < ends[0] <= ends[-1]:
            raise ArgumentError(
                f"GaussianBlur: kernel_size {kernel_size!r}, sigma {sigma!r}",
                fix="pass odd sizes and (least, most) > 0",
            )
        self.sigma = (float(ends[0]), float(ends[-1]))

    def forward(self, img: Any) -> Any:
        sigma = uniform(*self.sigma)
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])


class RandomErasing(nn.Module):
    """A rectangle of a tensor replaced, with probability p: https://arxiv.org/abs/1708.04896.

    Args:
        scale: of its area, as a part of the picture's.
        ratio: of its height to its width.
        value: a number, one for each channel, or "random" for normal noise.
    """

    def __init__(
        self,
        p: Probability = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(value, str) and value != "random":
            raise ArgumentError(f"RandomErasing: value is {value!r}", fix='pass numbers or "random"')
        if not 0 <= scale[0] <= scale[1] <= 1 or not 0 < ratio[0] <= ratio[1]:
            raise ArgumentError(f"RandomErasing: scale {scale}, ratio {ratio}", fix="pass (least, most) for each")
        self.p, self.scale, self.ratio, self.value, self.inplace = p, scale, ratio, value, inplace

    def forward(self, img: Tensor) -> Tensor:
        if polyad.rand(1).item() >= self.p:
            return img
        channels, rows, columns = size_of("RandomErasing", img)
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for _ in range(10):
            area = rows * columns * uniform(*self.scale)
            shape = math.exp(uniform(low, high))
            height, width = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if height >= rows or width >= columns:
                continue
            value: Any
            if isinstance(self.value, str):
                value = polyad.empty(channels, height, width).normal_().to(img.device, img.dtype)
            else:
                numbers = [self.value] if isinstance(self.value, int | float | np.number) else list(self.value)
                if len(numbers) not in (1, channels):
                    raise ArgumentError(
                        f"RandomErasing: {len(numbers)} values for {channels} channels", fix="pass one, or as many"
                    )
                value = polyad.tensor(numbers, dtype=img.dtype, device=img.device).reshape(-1, 1, 1)
            top, left = whole(0, rows - height + 1), whole(0, columns - width + 1)
            return F.erase(img, top, left, height, width, value, self.inplace)
        return img


explain(globals())
