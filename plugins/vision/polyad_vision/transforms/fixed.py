"""Transforms without chance, and those that call others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import polyad
from polyad import Tensor, nn
from polyad.arguments import explain
from polyad.base.kinds import Functions, Probability, Sizes
from polyad.errors import ArgumentError, ArgumentTypeError

from . import functional as F
from .inputs import InterpolationMode

__all__ = [
    "CenterCrop", "Compose", "ConvertImageDtype", "FiveCrop", "Grayscale", "Lambda", "Normalize", "PILToTensor", "Pad",
    "RandomApply", "RandomChoice", "RandomOrder", "Resize", "TenCrop", "ToPILImage", "ToTensor",
]  # fmt: skip


class Compose:
    """Transforms in a row.

    >>> import polyad as torch
    >>> from polyad.vision import transforms as T
    >>> T.Compose([T.Resize(8), T.CenterCrop(4)])(torch.zeros(3, 9, 12)).shape
    polyad.Size([3, 4, 4])
    """

    def __init__(self, transforms: Functions) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "\n".join(["Compose(", *(f"    {transform}" for transform in self.transforms), ")"])


class ToTensor:
    """See `functional.to_tensor`."""

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return "ToTensor()"


class PILToTensor:
    """See `functional.pil_to_tensor`."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return "PILToTensor()"


class ToPILImage:
    """See `functional.to_pil_image`."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return "ToPILImage()" if self.mode is None else f"ToPILImage(mode={self.mode})"


class ConvertImageDtype(nn.Module):
    """See `functional.convert_image_dtype`."""

    def __init__(self, dtype: polyad.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(nn.Module):
    """See `functional.normalize`."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


class Resize(nn.Module):
    """See `functional.resize`."""

    def __init__(
        self,
        size: Sizes,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size, self.interpolation, self.max_size, self.antialias = size, interpolation, max_size, antialias

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"Resize(size={self.size}, interpolation={self.interpolation}, max_size={self.max_size}, "
            f"antialias={self.antialias})"
        )


class CenterCrop(nn.Module):
    """See `functional.center_crop`."""

    def __init__(self, size: Sizes) -> None:
        super().__init__()
        self.size = F._pair("CenterCrop", "size", size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"CenterCrop(size={self.size})"


class Pad(nn.Module):
    """See `functional.pad`."""

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class Grayscale(nn.Module):
    """See `functional.rgb_to_grayscale`."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class FiveCrop(nn.Module):
    """See `functional.five_crop`."""

    def __init__(self, size: Sizes) -> None:
        super().__init__()
        self.size = size

    def forward(self, img: Any) -> Any:
        return F.five_crop(img, self.size)


class TenCrop(nn.Module):
    """See `functional.ten_crop`."""

    def __init__(self, size: Sizes, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size, self.vertical_flip = size, vertical_flip

    def forward(self, img: Any) -> Any:
        return F.ten_crop(img, self.size, self.vertical_flip)


class Lambda:
    """A function as a transform.

    Raises:
        TypeError: *lambd* cannot be called.
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise ArgumentTypeError(f"Lambda: lambd is of type {type(lambd).__name__}", fix="pass a function")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


class RandomApply(nn.Module):
    """All of the transforms, or none, with probability 1 - p."""

    def __init__(self, transforms: Functions, p: Probability = 0.5) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        if self.p < polyad.rand(1).item():
            return img
        for transform in self.transforms:
            img = transform(img)
        return img


class RandomOrder:
    """The transforms in an order that chance chooses, by Python's `random`."""

    def __init__(self, transforms: Functions) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for number in order:
            img = self.transforms[number](img)
        return img


class RandomChoice:
    """One of the transforms, with probabilities in proportion to *p*, by Python's `random`."""

    def __init__(self, transforms: Functions, p: Sequence[float] | None = None) -> None:
        if p is not None and len(p) != len(transforms):
            raise ArgumentError(
                f"RandomChoice: {len(p)} values in p for {len(transforms)} transforms", fix="pass as many"
            )
        self.transforms, self.p = transforms, p

    def __call__(self, img: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](img)


explain(globals())
