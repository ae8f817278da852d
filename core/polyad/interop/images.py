"""Pictures decoded by Pillow, and pictures of tensors."""

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

__all__ = ["decoded_picture", "loaded_image", "picture_of"]


def decoded_picture(stream: IO[bytes], name: str, mode: str = "RGB") -> Tensor:
    """The picture in an open file, uint8 (channels, height, width); *name* is for errors. Raises as `loaded_image`."""
    pixels = np.array(_loaded(stream, name, mode))
    return from_numpy(np.ascontiguousarray(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)))


def loaded_image(path: str | os.PathLike[str], mode: str = "RGB") -> Any:
    """The picture in a file, as Pillow's, in *mode*.

    Raises:
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
        RuntimeError (SerializationError): a file that is no picture, is damaged, or is so large that Pillow refuses it.
        ImportError (PackageMissing): Pillow is not installed.
    """
    _pillow()
    with opened(path, "loaded_image") as stream:
        return _loaded(stream, os.fspath(path), mode)


def picture_of(pixels: Tensor) -> Any:
    """Pillow's picture of uint8 (channels, height, width), with 1 or 3 channels."""
    array = pixels.numpy()
    return _pillow().fromarray(np.ascontiguousarray(array[0] if len(array) == 1 else array.transpose(1, 2, 0)))


def _pillow() -> Any:
    return needed("PIL.Image", "images", "loaded_image: pictures are decoded by Pillow")


def _loaded(stream: IO[bytes], name: str, mode: str) -> Any:
    image = _pillow()
    try:
        with image.open(stream) as picture:
            return picture.convert(mode)
    except Exception as error:  # of many types, by format
        raise SerializationError(
            f"loaded_image: {name} cannot be read as a picture: {error}",
            fix="use another copy; a dataset that is told to can skip it",
        ) from error
