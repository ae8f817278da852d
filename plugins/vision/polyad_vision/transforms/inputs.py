"""What a transform takes: tensors (..., channels, height, width), and Pillow's pictures where Pillow is loaded."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any

from polyad import Tensor
from polyad.arguments import check_dims, check_type
from polyad.errors import PackageMissing

__all__ = ["InterpolationMode", "is_picture", "needs", "pillow", "size_of"]


class InterpolationMode(Enum):
    """How values between pixels are computed."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers of them.
PILLOW_FILTERS = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}


def pillow(op: str) -> Any:
    """The module PIL."""
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageEnhance
        import PIL.ImageOps
    except ImportError as error:
        raise PackageMissing(
            f"{op}: Pillow is not installed", fix="pip install 'polyad[vision]', or pass tensors"
        ) from error
    return PIL


def is_picture(value: Any) -> bool:
    """Whether *value* is a picture of Pillow's."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def needs(op: str, value: Any, dims: int = 2) -> bool:
    """Whether *value* is Pillow's; anything but that and a tensor (..., channels, height, width) is refused, and with
    dims=3 a tensor without channels.
    """
    if is_picture(value):
        return True
    check_type(op, "img", value, Tensor, "a tensor (..., channels, height, width) or a picture of Pillow's")
    check_dims(op, "img", value, range(dims, 65), "pass a tensor (..., channels, height, width)")
    return False


def size_of(op: str, img: Any) -> tuple[int, int, int]:
    """Channels, height and width."""
    if needs(op, img):
        return len(img.getbands()), img.height, img.width
    return (1 if img.dim() == 2 else img.shape[-3]), img.shape[-2], img.shape[-1]
