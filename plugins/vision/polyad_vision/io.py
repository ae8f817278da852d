"""Files of pictures as tensors, and back."""

from __future__ import annotations

import io
import os
from typing import Any

import polyad
from polyad import Tensor
from polyad.arguments import explain
from polyad.errors import SerializationError

from .transforms.functional import pil_to_tensor, to_pil_image
from .transforms.inputs import pillow

__all__ = ["decode_image", "read_file", "read_image", "write_jpeg", "write_png"]


def read_file(path: str | os.PathLike[str]) -> Tensor:
    """The bytes of a file, uint8 (n,)."""
    with open(path, "rb") as file:
        return polyad.frombuffer(bytearray(file.read()), dtype=polyad.uint8)


def decode_image(input: Tensor, mode: str = "UNCHANGED") -> Tensor:
    """The picture whose file's bytes are *input*, uint8 (channels, height, width), by Pillow.

    Args:
        mode: "UNCHANGED", or "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA".

    Raises:
        RuntimeError (SerializationError): it is no picture, or a damaged one.
    """
    modes = {"UNCHANGED": None, "GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGB_ALPHA": "RGBA"}
    wanted: Any = modes[mode]
    try:
        with pillow("decode_image").Image.open(io.BytesIO(input.cpu().numpy().tobytes())) as picture:
            return pil_to_tensor(picture.convert(wanted) if wanted else picture)
    except (OSError, SyntaxError, ValueError) as error:
        raise SerializationError(
            f"decode_image: it cannot be read as a picture: {error}", fix="use another copy"
        ) from error


def read_image(path: str | os.PathLike[str], mode: str = "UNCHANGED") -> Tensor:
    """The picture in a file; see `decode_image`."""
    return decode_image(read_file(path), mode)


def write_png(input: Tensor, filename: str | os.PathLike[str], compression_level: int = 6) -> None:
    """Write uint8 (channels, height, width) as PNG."""
    to_pil_image(input).save(filename, "PNG", compress_level=compression_level)


def write_jpeg(input: Tensor, filename: str | os.PathLike[str], quality: int = 75) -> None:
    """Write uint8 (channels, height, width) as JPEG."""
    to_pil_image(input).save(filename, "JPEG", quality=quality)


explain(globals())
