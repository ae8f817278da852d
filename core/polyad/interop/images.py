"""Pictures as tensors, decoded by Pillow."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..base.extras import needed
from ..errors import SerializationError
from ..files import opened
from .numpy import from_numpy

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["decoded_image", "decoded_picture"]


def decoded_image(path: str | os.PathLike[str], mode: str = "RGB") -> Tensor:
    """The picture in a file, uint8 (channels, height, width), in Pillow's *mode*: "RGB", or "L" for grey.

    Raises:
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
        RuntimeError (SerializationError): a file that is no picture, is damaged, or is so large that Pillow refuses it.
        ImportError (PackageMissing): Pillow is not installed.
    """
    _pillow()
    with opened(path, "decoded_image") as stream:
        return decoded_picture(stream, os.fspath(path), mode)


def _pillow() -> Any:
    return needed("PIL.Image", "images", "decoded_image: pictures are decoded by Pillow")


def decoded_picture(stream: IO[bytes], name: str, mode: str = "RGB") -> Tensor:
    """What `decoded_image` gives, of an open file; *name* is for errors."""
    image = _pillow()
    try:
        with image.open(stream) as picture:
            pixels = np.array(picture.convert(mode))
    except Exception as error:  # of many types, by format
        raise SerializationError(
            f"decoded_image: {name} cannot be read as a picture: {error}",
            fix="use another copy; a dataset that is told to can skip it",
        ) from error
    return from_numpy(np.ascontiguousarray(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)))
