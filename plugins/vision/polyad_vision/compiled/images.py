"""``torch.ops.image``: pictures' files as tensors and back, by Pillow; `register` registers the ops.

A picture is uint8 (channels, rows, columns), as torchvision's; a PNG of 16 bits in grey is uint16. Pillow does not read
colours of 16 bits, which raises NotImplementedError, as do the ops for nvjpeg.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

import polyad
from polyad import Tensor, library
from polyad.base.extras import needed
from polyad.errors import ArgumentError, NotSupported, SerializationError

_PILLOW_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
"""Pillow's modes by torchvision's ImageReadMode, whose 0 is the file's own."""
_PNG_BEGIN = b"\x89PNG"


def _pillow(op: str) -> Any:
    return needed("PIL.Image", "vision", f"{op}: pictures are read and written by Pillow")


def _bytes_of(op: str, data: Tensor) -> bytes:
    if data.dtype is not polyad.uint8 or data.dim() != 1 or not data.numel():
        raise ArgumentError(
            f"{op}: data is no uint8 tensor of one dimension with elements", operands={"data": data},
            fix="give what read_file returns",
        )  # fmt: skip
    return data.cpu().numpy().tobytes()


def _tensor_of(picture: Any) -> Tensor:
    """The pixels of a picture of Pillow's, channels first."""
    pixels = np.array(picture)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    return polyad.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def _own_mode(picture: Any) -> str:
    """The mode of a file's picture whose channels torchvision shows."""
    if picture.mode == "P":
        return "RGBA" if "transparency" in picture.info else "RGB"
    return {"1": "L", "CMYK": "RGB", "YCbCr": "RGB", "I": "I;16"}.get(picture.mode, picture.mode)


def _open(op: str, data: Tensor, formats: list[str]) -> Any:
    content = _bytes_of(op, data)
    if content[:4] == _PNG_BEGIN and len(content) > 25 and content[24] == 16 and content[25] != 0:
        raise NotSupported(f"{op}: Pillow reads no colours of 16 bits", fix="store the picture with 8 bits")
    try:
        picture = _pillow(op).open(io.BytesIO(content), formats=formats)
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise SerializationError(
            f"{op}: it cannot be read as {' or '.join(formats)}: {error}", fix="use another copy"
        ) from error
    return picture


def _decoder(op: str, *formats: str) -> Callable[..., Tensor]:
    """An op that reads pictures of these formats."""

    def decode(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
        if mode not in (0, *_PILLOW_MODES):
            raise ArgumentError(f"{op}: there is no mode {mode}", fix="use torchvision.io.ImageReadMode")
        picture = _open(op, data, list(formats))
        if picture.format == "GIF":
            return _frames(picture)
        if apply_exif_orientation:
            picture = needed("PIL.ImageOps", "vision", op).exif_transpose(picture)
        wanted = _PILLOW_MODES.get(mode) or _own_mode(picture)
        if picture.mode.startswith("I") and wanted != "I;16":
            pixels = np.array(picture).astype(np.uint16)
            repeated = np.repeat(pixels[None], len(wanted.replace("LA", "L")), 0)
            if wanted.endswith("A"):
                repeated[-1 if wanted == "RGBA" else 0 :] = 65535 if wanted == "RGBA" else pixels
            return polyad.from_numpy(repeated)
        return _tensor_of(picture if picture.mode == wanted else picture.convert(wanted))

    return decode


def _frames(picture: Any) -> Tensor:
    """A GIF's pictures, (frames, 3, rows, columns), without the first dimension if there is one."""
    frames = []
    for number in range(getattr(picture, "n_frames", 1)):
        picture.seek(number)
        frames.append(_tensor_of(picture.convert("RGB")))
    return frames[0] if len(frames) == 1 else polyad.stack(frames)


def decode_gif(data: Tensor) -> Tensor:
    """A GIF's pictures."""
    return _frames(_open("decode_gif", data, ["GIF"]))


def _encoder(op: str, format_: str, option: str, lowest: int, highest: int) -> Callable[[Tensor, int], Tensor]:
    """An op that writes pictures of 1 or 3 channels; *option* is what Pillow calls its number."""

    def encode(data: Tensor, number: int) -> Tensor:
        if data.dtype is not polyad.uint8 or data.dim() != 3 or data.shape[0] not in (1, 3):
            raise ArgumentError(
                f"{op}: the picture is not uint8 of 1 or 3 channels", operands={"data": data},
                fix="give it as (channels, rows, columns)",
            )  # fmt: skip
        if not lowest <= number <= highest:
            raise ArgumentError(f"{op}: {number} is not between {lowest} and {highest}", fix="choose another")
        pixels = data.cpu().permute(1, 2, 0).contiguous().numpy()
        file = io.BytesIO()
        _pillow(op).fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(
            file, format_, **{option: number}
        )
        return polyad.frombuffer(bytearray(file.getvalue()), dtype=polyad.uint8)

    return encode


def read_file(filename: str) -> Tensor:
    """The bytes of a file. Raises OSError if it cannot be read."""
    with open(filename, "rb") as file:
        content = bytearray(file.read())
    return polyad.frombuffer(content, dtype=polyad.uint8) if content else polyad.empty(0, dtype=polyad.uint8)


def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file."""
    content = _bytes_of("write_file", data)
    with open(filename, "wb") as file:
        file.write(content)


def _for_nvjpeg(*args: Any) -> Any:
    raise NotSupported("image: nvjpeg is not called", fix="decode on the cpu, and move the picture")


OPS: dict[str, Any] = {
    "read_file(str filename) -> Tensor": read_file,
    "write_file(str filename, Tensor data) -> ()": write_file,
    "decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": _decoder("decode_png", "PNG"),
    "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": _decoder("decode_jpeg", "JPEG"),
    "decode_webp(Tensor data, int mode) -> Tensor": _decoder("decode_webp", "WEBP"),
    "decode_gif(Tensor data) -> Tensor": decode_gif,
    "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": _decoder(
        "decode_image", "JPEG", "PNG", "GIF", "WEBP"
    ),
    "encode_png(Tensor data, int compression_level) -> Tensor": _encoder("encode_png", "PNG", "compress_level", 0, 9),
    "encode_jpeg(Tensor data, int quality) -> Tensor": _encoder("encode_jpeg", "JPEG", "quality", 1, 100),
    "decode_jpegs_cuda(Tensor[] data, int mode, Device device) -> Tensor[]": _for_nvjpeg,
    "encode_jpegs_cuda(Tensor[] data, int quality) -> Tensor[]": _for_nvjpeg,
}
"""The kernels by schema."""


def register() -> library.Library:
    """Register the ops, for as long as the library is kept."""
    made = library.Library("image", "FRAGMENT")
    for schema, kernel in OPS.items():
        made.impl(made.define(schema), kernel, "CompositeExplicitAutograd")
    return made
