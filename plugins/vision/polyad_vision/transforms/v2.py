"""The names of ``torchvision.transforms.v2`` for what is in `polyad.vision.transforms`.

Each takes a picture or a tensor alone, without the labels, boxes and masks that torchvision's take beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad import Tensor, nn
from polyad.arguments import check_type, explain
from polyad.errors import ArgumentTypeError

from . import chance, fixed, functional, inputs
from .automatic import RandAugment, TrivialAugmentWide
from .chance import *  # noqa: F403  # each module says in __all__ what is public
from .fixed import *  # noqa: F403
from .functional import convert_image_dtype, pil_to_tensor
from .inputs import InterpolationMode, is_picture

__all__ = [
    *chance.__all__, *fixed.__all__, "Identity", "InterpolationMode", "RGB", "RandAugment", "ToDtype", "ToImage",
    "ToPureTensor", "TrivialAugmentWide", "functional",
]  # fmt: skip


class Identity(nn.Module):
    """Nothing."""

    def forward(self, img: Any) -> Any:
        return img


class ToImage(nn.Module):
    """A picture of Pillow's, or an array (height, width, channels) as a tensor (channels, height, width) unscaled.

    Raises:
        TypeError: it is neither, nor a tensor, which stays as it is.

    >>> import numpy
    >>> from polyad.vision.transforms import v2
    >>> v2.ToImage()(numpy.full((1, 2, 3), 255, "uint8")).shape
    polyad.Size([3, 1, 2])
    """

    def forward(self, pic: Any) -> Tensor:
        if isinstance(pic, Tensor):
            return pic
        if is_picture(pic):
            return pil_to_tensor(pic)
        if isinstance(pic, np.ndarray) and pic.ndim in (2, 3):
            return functional._from_pixels(pic)
        raise ArgumentTypeError(
            f"ToImage: pic is of type {type(pic).__name__}", fix="pass a picture of Pillow's, an array or a tensor"
        )


class ToDtype(nn.Module):
    """A tensor in another dtype; with *scale*, black and white stay black and white (`convert_image_dtype`).

    Raises:
        TypeError: *dtype* is none, or what is passed is no tensor.

    >>> import polyad as torch
    >>> from polyad.vision.transforms import v2
    >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[255]]], dtype=torch.uint8))
    tensor([[[1.]]])
    """

    def __init__(self, dtype: polyad.dtype, scale: bool = False) -> None:
        super().__init__()
        check_type("ToDtype", "dtype", dtype, polyad.dtype, "a polyad.dtype")
        self.dtype, self.scale = dtype, scale

    def forward(self, img: Tensor) -> Tensor:
        check_type("ToDtype", "img", img, Tensor, "a tensor: put ToImage() before it")
        return convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)

    def __repr__(self) -> str:
        return f"ToDtype(dtype={self.dtype}, scale={self.scale})"


class ToPureTensor(Identity):
    """Nothing: polyad's tensors are tensors alone."""


class RGB(nn.Module):
    """Three channels, of a grey picture or one that has them."""

    def forward(self, img: Any) -> Any:
        if is_picture(img):
            return img.convert("RGB")
        inputs.needs("RGB", img, 3)
        return img.expand(*img.shape[:-3], 3, *img.shape[-2:]) if img.shape[-3] == 1 else img


explain(globals())
