"""Transforms as functions, of tensors (..., channels, height, width) and of Pillow's pictures.

Names and arguments are torchvision's.

Tensors of whole numbers are from 0 to the largest of their dtype, tensors of floating-point numbers from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import polyad
from polyad import Tensor
from polyad.arguments import explain
from polyad.base.kinds import NonNegative
from polyad.errors import ArgumentError, ArgumentTypeError

from . import on_tensors
from .inputs import PILLOW_FILTERS, InterpolationMode, is_picture, needs, pillow, size_of

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "adjust_sharpness", "affine", "autocontrast", "center_crop", "convert_image_dtype", "crop", "equalize", "erase",
    "five_crop", "gaussian_blur", "get_dimensions", "get_image_size", "hflip", "invert", "normalize", "pad",
    "pil_to_tensor", "posterize", "resize", "resized_crop", "rgb_to_grayscale", "rotate", "solarize", "ten_crop",
    "to_grayscale", "to_pil_image", "to_tensor", "vflip",
]  # fmt: skip

Image = Any  # a tensor, or a picture of Pillow's
BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST


def get_dimensions(img: Image) -> list[int]:
    """Channels, height and width."""
    return list(size_of("get_dimensions", img))


def get_image_size(img: Image) -> list[int]:
    """Width and height."""
    _, height, width = size_of("get_image_size", img)
    return [width, height]


# ---------------------------------------------------------------------------------------------- to and from tensors


def pil_to_tensor(pic: Any) -> Tensor:
    """A picture of Pillow's as a tensor (channels, height, width), its numbers as they are.

    Raises:
        TypeError: anything else.

    >>> from PIL import Image
    >>> from polyad.vision.transforms.functional import pil_to_tensor
    >>> pil_to_tensor(Image.new("RGB", (3, 2), (9, 8, 7)))[:, 0, 0]
    tensor([9, 8, 7], dtype=polyad.uint8)
    """
    if not is_picture(pic):
        raise ArgumentTypeError(f"pil_to_tensor: pic is of type {type(pic).__name__}", fix="pass a picture of Pillow's")
    pixels = np.array(pic)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8) * 255
    return _from_pixels(pixels)


def _from_pixels(pixels: Any) -> Tensor:
    pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    # A dtype of 16 bits without sign there is not; int16, which torchvision takes, has no place for the upper half.
    dtype = np.int32 if pixels.dtype == np.uint16 else None
    return polyad.from_numpy(np.array(pixels, dtype, order="C"))


def to_tensor(pic: Any) -> Tensor:
    """A picture of Pillow's, or an array (height, width) or (height, width, channels), as a tensor (channels, height,
    width). Bytes become float32 from 0 to 1; other numbers stay as they are, 16 bits without sign as int32.

    Raises:
        TypeError: anything else; ValueError: an array of another rank.

    >>> import numpy
    >>> from polyad.vision.transforms.functional import to_tensor
    >>> to_tensor(numpy.full((1, 2, 1), 255, "uint8"))
    tensor([[[1., 1.]]])
    """
    if is_picture(pic):
        result = pil_to_tensor(pic)
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ArgumentError(
                f"to_tensor: pic has shape {pic.shape}", fix="pass (height, width) or (height, width, channels)"
            )
        result = _from_pixels(pic)
    else:
        raise ArgumentTypeError(
            f"to_tensor: pic is of type {type(pic).__name__}", fix="pass a picture of Pillow's or a NumPy array"
        )
    if result.dtype != polyad.uint8:
        return result
    return result.to(polyad.get_default_dtype()).div_(255)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (channels, height, width) or an array (height, width, channels) as a picture of Pillow's.

    Args:
        mode: Pillow's mode; by default "L", "LA", "RGB" or "RGBA" by the number of channels.

    Raises:
        TypeError: anything else, or a dtype that Pillow has no mode for; ValueError: another shape, another mode.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import to_pil_image
    >>> to_pil_image(torch.zeros(3, 2, 4)).size
    (4, 2)
    """
    image = pillow("to_pil_image").Image
    if isinstance(pic, Tensor):
        if pic.dim() not in (2, 3):
            raise ArgumentError(f"to_pil_image: pic has shape {tuple(pic.shape)}", fix="pass (channels, height, width)")
        if pic.is_floating_point() and mode != "F":
            pic = pic.mul(255).to(polyad.uint8)
        pixels = pic.detach().cpu().numpy()
        pixels = pixels[..., None] if pixels.ndim == 2 else pixels.transpose(1, 2, 0)
    elif isinstance(pic, np.ndarray) and pic.ndim in (2, 3):
        pixels = pic if pic.ndim == 3 else pic[..., None]
    elif isinstance(pic, np.ndarray):
        raise ArgumentError(f"to_pil_image: pic has shape {pic.shape}", fix="pass (height, width, channels)")
    else:
        raise ArgumentTypeError(
            f"to_pil_image: pic is of type {type(pic).__name__}", fix="pass a tensor or a NumPy array"
        )
    channels = pixels.shape[2]
    if channels > 4:
        raise ArgumentError(f"to_pil_image: pic has {channels} channels", fix="pass 1 to 4 channels")
    if channels == 1:
        modes = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}
        found = modes.get(pixels.dtype.name)
        if found is None:
            raise ArgumentTypeError(f"to_pil_image: pic is {pixels.dtype}", fix=f"pass one of {', '.join(modes)}")
        if mode not in (None, found):
            raise ArgumentError(f"to_pil_image: mode {mode!r} for {pixels.dtype}", fix=f"pass mode={found!r}")
        return image.fromarray(np.ascontiguousarray(pixels[..., 0]))
    if pixels.dtype != np.uint8:
        raise ArgumentTypeError(f"to_pil_image: pic is {pixels.dtype}", fix="pass uint8")
    possible = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV", "LAB"), 4: ("RGBA", "CMYK", "RGBX")}[channels]
    if mode is not None and mode not in possible:
        raise ArgumentError(
            f"to_pil_image: mode {mode!r} for {channels} channels", fix=f"pass one of {', '.join(possible)}"
        )
    height, width = pixels.shape[:2]
    return image.frombytes(mode or possible[0], (width, height), np.ascontiguousarray(pixels).tobytes())


def convert_image_dtype(image: Tensor, dtype: polyad.dtype = polyad.float32) -> Tensor:
    """*image* in another dtype, its values scaled: white stays white.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import convert_image_dtype
    >>> convert_image_dtype(torch.tensor([[[0.0, 0.5, 1.0]]]), torch.uint8)
    tensor([[[  0, 127, 255]]], dtype=polyad.uint8)
    """
    if not isinstance(image, Tensor):
        raise ArgumentTypeError(f"convert_image_dtype: image is of type {type(image).__name__}", fix="pass a tensor")
    return on_tensors.convert_dtype(image, dtype)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """(tensor - mean) / std, for each channel.

    Raises:
        TypeError: no floating-point tensor; ValueError: fewer than three dimensions, or a std of zero.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import normalize
    >>> normalize(torch.ones(2, 1, 1), [0.5, 0.0], [0.5, 2.0]).flatten()
    tensor([1.0000, 0.5000])
    """
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        what = str(tensor.dtype) if isinstance(tensor, Tensor) else f"of type {type(tensor).__name__}"
        raise ArgumentTypeError(
            f"normalize: tensor is {what}",
            fix="pass a floating-point tensor: to_tensor or convert_image_dtype gives it",
        )
    if tensor.dim() < 3:
        raise ArgumentError(
            f"normalize: tensor has shape {tuple(tensor.shape)}", fix="pass (..., channels, height, width)"
        )
    options: dict[str, Any] = {"dtype": tensor.dtype, "device": tensor.device}
    middle, spread = (polyad.as_tensor(value, **options) for value in (mean, std))
    if bool((spread == 0).any()):
        raise ArgumentError(f"normalize: std is {std}, of which a value is 0 as {tensor.dtype}", fix="pass others")
    if middle.dim() == 1:
        middle = middle.reshape(-1, 1, 1)
    if spread.dim() == 1:
        spread = spread.reshape(-1, 1, 1)
    result = tensor.sub_(middle) if inplace else tensor - middle
    return result.div_(spread)


# ---------------------------------------------------------------------------------------------------------- geometry


def resize(
    img: Image,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Image:
    """*img* in another size.

    Args:
        size: (height, width), or the length of the shorter side; the ratio of the sides stays.
        max_size: the most that the longer side may get; goes with a single number as *size*.
        antialias: whether a smaller picture is made of all pixels; Pillow's pictures always are.

    Raises:
        ValueError: a *size* or *max_size* that is none.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import resize
    >>> resize(torch.zeros(3, 40, 60), 20).shape
    polyad.Size([3, 20, 30])
    """
    _, height, width = size_of("resize", img)
    target = _target(size, max_size, height, width)
    mode = _mode(interpolation)
    if is_picture(img):
        return img.resize(target[::-1], PILLOW_FILTERS[mode])
    return on_tensors.resize(img, target, mode, bool(antialias))


def _mode(interpolation: InterpolationMode | int) -> InterpolationMode:
    if isinstance(interpolation, int | np.integer):
        for mode, number in PILLOW_FILTERS.items():
            if number == interpolation:
                return mode
    if not isinstance(interpolation, InterpolationMode):
        raise ArgumentTypeError(f"interpolation is {interpolation!r}", fix="pass an InterpolationMode")
    return interpolation


def _target(size: int | Sequence[int], max_size: int | None, height: int, width: int) -> tuple[int, int]:
    sizes = [size] if isinstance(size, int | np.integer) else list(size)
    if len(sizes) not in (1, 2) or min(sizes) < 1:
        raise ArgumentError(f"resize: size is {size!r}", fix="pass a positive number or (height, width)")
    if len(sizes) == 2:
        if max_size is not None:
            raise ArgumentError("resize: max_size goes with a single number as size", fix="leave max_size out")
        return sizes[0], sizes[1]
    short, long = sorted((height, width))
    new_short, new_long = sizes[0], int(sizes[0] * long / short)
    if max_size is not None:
        if max_size <= sizes[0]:
            raise ArgumentError(f"resize: max_size {max_size}, size {sizes[0]}", fix="pass a larger max_size")
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def pad(img: Image, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Image:
    """*img* with rows and columns around it.

    Args:
        padding: a number; (left and right, top and bottom); or (left, top, right, bottom).
        fill: of new pixels, or of each of their channels.
        padding_mode: "constant", "edge", "reflect" (without the edge itself) or "symmetric" (with it).

    Raises:
        ValueError: another *padding* or *padding_mode*.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import pad
    >>> pad(torch.tensor([[[1, 2, 3]]]), (2, 0), padding_mode="reflect")
    tensor([[[3, 2, 1, 2, 3, 2, 1]]])
    """
    picture = needs("pad", img)
    sizes = [padding] if isinstance(padding, int | np.integer) else list(padding)
    if len(sizes) not in (1, 2, 4):
        raise ArgumentError(f"pad: padding is {padding!r}", fix="pass 1, 2 or 4 numbers")
    ends = sizes * 4 if len(sizes) == 1 else sizes * 2 if len(sizes) == 2 else sizes
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ArgumentError(
            f"pad: padding_mode is {padding_mode!r}", fix='pass "constant", "edge", "reflect" or "symmetric"'
        )
    if not picture:
        if any(end < 0 for end in ends):
            img, ends = _cut(img, ends)
        return on_tensors.pad(img, ends, fill, padding_mode)
    if padding_mode == "constant":
        return pillow("pad").ImageOps.expand(img, tuple(ends), _pillow_fill(fill, img))
    return _as_picture(on_tensors.pad(pil_to_tensor(img), ends, fill, padding_mode), img)


def _cut(img: Tensor, ends: list[int]) -> tuple[Tensor, list[int]]:
    left, top, right, bottom = (max(-end, 0) for end in ends)
    height, width = img.shape[-2:]
    return img[..., top : height - bottom, left : width - right], [max(end, 0) for end in ends]


def _pillow_fill(fill: Any, img: Any) -> Any:
    bands = len(img.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, int | float | np.number):
        return fill if bands == 1 else (int(fill),) * bands
    return tuple(int(value) for value in (fill * bands if len(fill) == 1 else fill))


def _as_picture(x: Tensor, like: Any) -> Any:
    return to_pil_image(x, like.mode if like.mode in ("YCbCr", "HSV", "LAB", "CMYK", "RGBX") else None)


def crop(img: Image, top: int, left: int, height: int, width: int) -> Image:
    """The rectangle from row *top* and column *left*; what lies outside of *img* is zero.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import crop
    >>> crop(torch.arange(6).reshape(1, 2, 3), 0, 1, 2, 3)
    tensor([[[1, 2, 0],
             [4, 5, 0]]])
    """
    if needs("crop", img):
        return img.crop((left, top, left + width, top + height))
    rows, columns = img.shape[-2:]
    right, bottom = left + width, top + height
    if left < 0 or top < 0 or right > columns or bottom > rows:
        inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
        before = (max(min(right, 0) - left, 0), max(min(bottom, 0) - top, 0))
        after = (max(right - max(columns, left), 0), max(bottom - max(rows, top), 0))
        return on_tensors.pad(inside, (*before, *after), 0, "constant")
    return img[..., top:bottom, left:right]


def center_crop(img: Image, output_size: int | Sequence[int]) -> Image:
    """The middle of *img*, (height, width) or a square; what lies outside of *img* is zero.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import center_crop
    >>> center_crop(torch.zeros(3, 8, 9), 4).shape
    polyad.Size([3, 4, 4])
    """
    height, width = _pair("center_crop", "output_size", output_size)
    _, rows, columns = size_of("center_crop", img)
    if width > columns or height > rows:
        across, down = max(width - columns, 0), max(height - rows, 0)
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        _, rows, columns = size_of("center_crop", img)
    return crop(img, round((rows - height) / 2.0), round((columns - width) / 2.0), height, width)


def _pair(op: str, name: str, value: int | float | Sequence[Any]) -> tuple[int, int]:
    if isinstance(value, int | float | np.number):
        return int(value), int(value)
    if len(value) not in (1, 2):
        raise ArgumentError(f"{op}: {name} is {value!r}", fix="pass a number or (height, width)")
    return value[0], value[-1]


def resized_crop(
    img: Image,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode = BILINEAR,
    antialias: bool | None = True,
) -> Image:
    """`crop`, then `resize`."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Image) -> Image:
    """*img* with left and right exchanged."""
    return img.transpose(0) if needs("hflip", img) else img.flip(-1)


def vflip(img: Image) -> Image:
    """*img* with top and bottom exchanged."""
    return img.transpose(1) if needs("vflip", img) else img.flip(-2)


def five_crop(img: Image, size: int | Sequence[int]) -> tuple[Image, Image, Image, Image, Image]:
    """The corners top left, top right, bottom left, bottom right, and the middle.

    Raises:
        ValueError: *size* is larger than the picture.
    """
    height, width = _pair("five_crop", "size", size)
    _, rows, columns = size_of("five_crop", img)
    if width > columns or height > rows:
        raise ArgumentError(f"five_crop: size {(height, width)} of a picture {(rows, columns)}", fix="crop less")
    corners = [(0, 0), (0, columns - width), (rows - height, 0), (rows - height, columns - width)]
    one, two, three, four = (crop(img, top, left, height, width) for top, left in corners)
    return one, two, three, four, center_crop(img, (height, width))


def ten_crop(img: Image, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Image, ...]:
    """`five_crop` of *img*, and of *img* flipped."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def _inverse_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """The inverse of: move by -center, shear, rotate, scale, move by center + translate; angles in degrees."""
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    a, b, c, d = d / scale, -b / scale, -c / scale, a / scale
    x, y = center[0] + translate[0], center[1] + translate[1]
    return [a, b, center[0] - a * x - b * y, c, d, center[1] - c * x - d * y]


def rotate(
    img: Image,
    angle: float,
    interpolation: InterpolationMode = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Image:
    """*img* turned by *angle* degrees against the clock.

    Args:
        expand: the result is as large as the turned picture; else as *img*.
        center: (x, y) from the top left; by default the middle.
        fill: of pixels that come from outside.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import rotate
    >>> rotate(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 90)
    tensor([[[2., 4.],
             [1., 3.]]])
    """
    if center is not None and len(center) != 2:
        raise ArgumentError(f"rotate: center is {center!r}", fix="pass (x, y)")
    if needs("rotate", img):
        filter_ = PILLOW_FILTERS[_mode(interpolation)]
        return img.rotate(angle, filter_, expand, center, fillcolor=_pillow_fill(fill, img))
    height, width = img.shape[-2:]
    if angle % 90 == 0 and center is None and (expand or angle % 180 == 0 or height == width):
        return img.rot90(int(angle // 90), (-2, -1))  # exactly, as Pillow does: pixels lie on pixels
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = _inverse_matrix(middle, -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    size = _turned_size(matrix, height, width) if expand else (height, width)
    return on_tensors.sample(img, matrix, size, _mode(interpolation), fill)


def _turned_size(matrix: Sequence[float], height: int, width: int) -> tuple[int, int]:
    a, b, c, d, e, f = matrix
    corners = [(sx * width / 2, sy * height / 2) for sx in (-1, 1) for sy in (-1, 1)]
    # The matrix turns back; its transpose turns forward.
    across = [a * x + d * y + c + width / 2 for x, y in corners]
    down = [b * x + e * y + f + height / 2 for x, y in corners]

    def span(values: list[float]) -> int:
        low, high = (math.trunc(value / 1e-4) * 1e-4 for value in (min(values), max(values)))
        return math.ceil(high) - math.floor(low)

    return span(down), span(across)


def affine(
    img: Image,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode = NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Image:
    """*img* turned by *angle* degrees with the clock, sheared, scaled and moved; its size stays.

    Args:
        translate: columns and rows.
        shear: degrees along x, or (x, y).

    Raises:
        ValueError: a *scale* that is not positive, or another number of values.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import affine
    >>> affine(torch.tensor([[[1.0, 2.0, 3.0]]]), 0, [1, 0], 1.0, 0)
    tensor([[[0., 1., 2.]]])
    """
    picture = needs("affine", img)
    if len(translate) != 2 or (center is not None and len(center) != 2):
        raise ArgumentError(f"affine: translate {translate!r}, center {center!r}", fix="pass (x, y) for each")
    if scale <= 0:
        raise ArgumentError(f"affine: scale is {scale}", fix="pass a positive number")
    shears = [float(shear)] if isinstance(shear, int | float | np.number) else list(shear)
    if len(shears) not in (1, 2):
        raise ArgumentError(f"affine: shear is {shear!r}", fix="pass a number or (x, y)")
    shears = [shears[0], shears[1] if len(shears) == 2 else 0.0]
    _, height, width = size_of("affine", img)
    if picture:
        middle = (width * 0.5, height * 0.5) if center is None else center
        matrix = _inverse_matrix(middle, angle, translate, scale, shears)
        filter_ = PILLOW_FILTERS[_mode(interpolation)]
        return img.transform((width, height), 0, matrix, filter_, fillcolor=_pillow_fill(fill, img))
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = _inverse_matrix(middle, angle, translate, scale, shears)
    return on_tensors.sample(img, matrix, (height, width), _mode(interpolation), fill)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Tensor:
    """*img* with *v* in the rectangle of size (h, w) from row i, column j.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import erase
    >>> erase(torch.ones(1, 2, 2), 0, 0, 1, 2, 0.0)
    tensor([[[0., 0.],
             [1., 1.]]])
    """
    if not isinstance(img, Tensor):
        raise ArgumentTypeError(f"erase: img is of type {type(img).__name__}", fix="pass a tensor")
    if not inplace:
        img = img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# ------------------------------------------------------------------------------------------------------------ colours


def adjust_brightness(img: Image, brightness_factor: NonNegative) -> Image:
    """0 gives black, 1 *img*, 2 twice the brightness."""
    if needs("adjust_brightness", img):
        return pillow("adjust_brightness").ImageEnhance.Brightness(img).enhance(brightness_factor)
    return on_tensors.blend(img, polyad.zeros_like(img), brightness_factor)


def adjust_contrast(img: Image, contrast_factor: NonNegative) -> Image:
    """0 gives grey of the mean brightness, 1 *img*."""
    if needs("adjust_contrast", img, 3):
        return pillow("adjust_contrast").ImageEnhance.Contrast(img).enhance(contrast_factor)
    grey = on_tensors.grey(img)
    grey = grey if grey.is_floating_point() else grey.float()
    return on_tensors.blend(img, grey.mean((-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Image, saturation_factor: NonNegative) -> Image:
    """0 gives shades of grey, 1 *img*."""
    if needs("adjust_saturation", img, 3):
        return pillow("adjust_saturation").ImageEnhance.Color(img).enhance(saturation_factor)
    return img if img.shape[-3] == 1 else on_tensors.blend(img, on_tensors.grey(img), saturation_factor)


def adjust_sharpness(img: Image, sharpness_factor: NonNegative) -> Image:
    """0 gives a smoothed picture, 1 *img*."""
    if needs("adjust_sharpness", img):
        return pillow("adjust_sharpness").ImageEnhance.Sharpness(img).enhance(sharpness_factor)
    return on_tensors.sharpness(img, sharpness_factor)


def adjust_hue(img: Image, hue_factor: float) -> Image:
    """Colours turned around their circle, by -0.5 to 0.5 of it.

    Raises:
        ValueError: another *hue_factor*.
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ArgumentError(f"adjust_hue: hue_factor is {hue_factor}", fix="pass a number from -0.5 to 0.5")
    if not needs("adjust_hue", img, 3):
        return on_tensors.adjust_hue(img, hue_factor)
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = (np.array(hue).astype(np.int16) + int(hue_factor * 255)) % 256
    image = pillow("adjust_hue").Image
    parts = (image.fromarray(turned.astype(np.uint8)), saturation, value)
    return image.merge("HSV", parts).convert(img.mode)


def adjust_gamma(img: Image, gamma: NonNegative, gain: float = 1) -> Image:
    """gain x img^gamma, with *img* from 0 to 1."""
    if needs("adjust_gamma", img):
        table = [int((255 + 1 - 1e-3) * gain * pow(value / 255.0, gamma)) for value in range(256)]
        converted = img.convert("RGB") if img.mode not in ("L", "RGB") else img
        return converted.point([min(max(v, 0), 255) for v in table] * len(converted.getbands())).convert(img.mode)
    x = img if img.is_floating_point() else on_tensors.convert_dtype(img, polyad.float32)
    return on_tensors.convert_dtype((gain * x**gamma).clamp(0, 1), img.dtype)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """A picture of Pillow's in grey, with 1 or 3 channels."""
    if not is_picture(img):
        raise ArgumentTypeError("to_grayscale: img is no picture of Pillow's", fix="use rgb_to_grayscale for tensors")
    return rgb_to_grayscale(img, num_output_channels)


def rgb_to_grayscale(img: Image, num_output_channels: int = 1) -> Image:
    """*img* in grey, with 1 or 3 channels.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import rgb_to_grayscale
    >>> rgb_to_grayscale(torch.ones(3, 2, 2)).shape
    polyad.Size([1, 2, 2])
    """
    picture = needs("rgb_to_grayscale", img, 3)
    if num_output_channels not in (1, 3):
        raise ArgumentError(f"rgb_to_grayscale: num_output_channels is {num_output_channels}", fix="pass 1 or 3")
    if picture:
        grey = img.convert("L")
        return grey if num_output_channels == 1 else pillow("rgb_to_grayscale").Image.merge("RGB", [grey] * 3)
    grey = on_tensors.grey(img)
    return grey if num_output_channels == 1 else grey.expand(*img.shape[:-3], 3, *img.shape[-2:])


def invert(img: Image) -> Image:
    """White minus *img*."""
    if needs("invert", img):
        return pillow("invert").ImageOps.invert(img)
    return on_tensors.largest(img.dtype) - img


def posterize(img: Image, bits: int) -> Image:
    """*img* with the *bits* highest bits of each value; tensors are uint8."""
    if not 0 <= bits <= 8:
        raise ArgumentError(f"posterize: bits is {bits}", fix="pass 0 to 8")
    if needs("posterize", img):
        return pillow("posterize").ImageOps.posterize(img, bits)
    if img.dtype != polyad.uint8:
        raise ArgumentTypeError(f"posterize: img is {img.dtype}", fix="pass a uint8 tensor")
    return img & (256 - 2 ** (8 - bits))


def solarize(img: Image, threshold: float) -> Image:
    """*img* with values of *threshold* and above inverted."""
    if needs("solarize", img):
        return pillow("solarize").ImageOps.solarize(img, threshold)
    if threshold > on_tensors.largest(img.dtype):
        raise ArgumentError(f"solarize: threshold {threshold} is above white", fix="pass a smaller one")
    return polyad.where(img >= threshold, invert(img), img)


def autocontrast(img: Image) -> Image:
    """*img* with each channel stretched from black to white."""
    if needs("autocontrast", img):
        return pillow("autocontrast").ImageOps.autocontrast(img)
    return on_tensors.autocontrast(img)


def equalize(img: Image) -> Image:
    """*img* with all values about equally frequent; tensors are uint8."""
    if needs("equalize", img):
        return pillow("equalize").ImageOps.equalize(img)
    return on_tensors.equalize(img)


def gaussian_blur(img: Image, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Image:
    """*img* smoothed by a Gaussian.

    Args:
        kernel_size: odd; a number or (x, y).
        sigma: standard deviation in pixels; by default 0.15 kernel_size + 0.35.

    Raises:
        ValueError: an even *kernel_size*, a *sigma* that is not positive.

    >>> import polyad as torch
    >>> from polyad.vision.transforms.functional import gaussian_blur
    >>> round(gaussian_blur(torch.ones(1, 5, 5), 3).mean().item(), 4)
    1.0
    """
    picture = needs("gaussian_blur", img)
    sizes = _pair("gaussian_blur", "kernel_size", kernel_size)
    if any(size < 1 or size % 2 == 0 for size in sizes):
        raise ArgumentError(f"gaussian_blur: kernel_size is {kernel_size!r}", fix="pass odd numbers")
    if sigma is None:
        deviations: Sequence[float] = [size * 0.15 + 0.35 for size in sizes]
    else:
        deviations = [sigma[0], sigma[-1]] if isinstance(sigma, Sequence) else [float(sigma)] * 2
    if min(deviations) <= 0:
        raise ArgumentError(f"gaussian_blur: sigma is {sigma!r}", fix="pass positive numbers")
    if picture:
        return _as_picture(on_tensors.gaussian_blur(pil_to_tensor(img), sizes, deviations), img)
    return on_tensors.gaussian_blur(img, sizes, deviations)


explain(globals())
