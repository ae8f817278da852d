"""Transforms of tensors (..., channels, height, width), of any device; whole numbers round as torchvision's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor
from polyad.errors import ArgumentError, ArgumentTypeError, PolyadError

from .inputs import InterpolationMode

LARGEST = {
    polyad.uint8: 255, polyad.int8: 127, polyad.int16: 32767, polyad.int32: 2147483647, polyad.int64: 2**63 - 1,
}  # fmt: skip


class ConversionError(PolyadError, RuntimeError):
    """A dtype with fewer digits than the one that is wanted."""


def largest(dtype: polyad.dtype) -> float:
    """What is white in *dtype*."""
    return LARGEST.get(dtype, 1)


def batched(img: Tensor) -> Tensor:
    """*img* as (n, channels, height, width)."""
    return img.reshape(-1, *img.shape[-3:]) if img.dim() > 2 else img[None, None]


def computing(img: Tensor) -> Tensor:
    """*img* as a batch of a dtype that can be computed with."""
    x = batched(img)
    return x if x.is_floating_point() else x.float()


def stored(x: Tensor, like: Tensor) -> Tensor:
    """*x* in the shape, but for the size, and the dtype of *like*."""
    if not like.is_floating_point() and x.is_floating_point():
        x = x.round()
        if like.dtype == polyad.uint8:
            x = x.clamp(0, 255)
    return x.to(like.dtype).reshape(*like.shape[:-2], *x.shape[-2:])


def resize(img: Tensor, size: Sequence[int], mode: InterpolationMode, antialias: bool) -> Tensor:
    """See `functional.resize`."""
    if tuple(size) == tuple(img.shape[-2:]):
        return img
    smooth = mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    if not smooth and mode not in (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT):
        raise ArgumentError(
            f"resize: tensors are not interpolated by {mode}", fix="use NEAREST, NEAREST_EXACT, BILINEAR or BICUBIC"
        )
    options: dict[str, Any] = {"align_corners": False, "antialias": antialias} if smooth else {}
    # Nothing is computed with pixels that only move.
    x = computing(img) if smooth or img.dtype != polyad.uint8 else batched(img)
    return stored(F.interpolate(x, size=list(size), mode=mode.value, **options), img)


def pad(img: Tensor, padding: Sequence[int], fill: Any, mode: str) -> Tensor:
    """See `functional.pad`; *padding* is left, top, right, bottom."""
    left, top, right, bottom = padding
    if mode == "constant":
        if isinstance(fill, Sequence):
            if len(fill) == 1:
                fill = fill[0]
            else:
                parts = [
                    F.pad(img[..., n : n + 1, :, :], [left, right, top, bottom], value=v) for n, v in enumerate(fill)
                ]
                return polyad.cat(parts, -3)
        return F.pad(img, [left, right, top, bottom], value=fill)
    rows, columns = (_places(n, *ends, mode, img) for n, ends in zip(img.shape[-2:], ((top, bottom), (left, right))))
    return img.index_select(-2, rows).index_select(-1, columns)


def _places(size: int, before: int, after: int, mode: str, img: Tensor) -> Tensor:
    """Which row of the input each row of the output is."""
    at = polyad.arange(-before, size + after, device=img.device)
    if mode == "edge":
        return at.clamp(0, size - 1)
    period = 2 * size - (2 if mode == "reflect" else 0)
    most = size - 1 if mode == "reflect" else size
    if max(before, after) > most:
        raise ArgumentError(
            f"pad: {max(before, after)} rows or columns of {mode!r} padding beside {size}", fix=f"pad at most {most}"
        )
    at = at % max(period, 1)
    return polyad.minimum(at, period - at - (0 if mode == "reflect" else 1)) if period else at


def blend(img: Tensor, other: Tensor, ratio: float) -> Tensor:
    """Between *other* (0) and *img* (1), or beyond; cut to what the dtype can hold."""
    return (ratio * img + (1.0 - ratio) * other).clamp(0, largest(img.dtype)).to(img.dtype)


def grey(img: Tensor) -> Tensor:
    """The luma of ITU-R BT.601, with one channel."""
    if img.shape[-3] == 1:
        return img
    if img.shape[-3] != 3:
        raise ArgumentError(
            f"rgb_to_grayscale: img has {img.shape[-3]} channels", fix="pass a tensor (..., 3, height, width)"
        )
    red, green, blue = img.unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def convert_dtype(img: Tensor, dtype: polyad.dtype) -> Tensor:
    """See `functional.convert_image_dtype`."""
    if img.dtype == dtype:
        return img
    if img.is_floating_point():
        if dtype.is_floating_point:
            return img.to(dtype)
        if (img.dtype == polyad.float32 and dtype in (polyad.int32, polyad.int64)) or (
            img.dtype == polyad.float64 and dtype == polyad.int64
        ):
            raise ConversionError(
                f"convert_image_dtype: {img.dtype} has too few digits for {dtype}", fix="convert to polyad.uint8"
            )
        # The intervals of all whole numbers are alike, and 1.0 is the largest of them.
        return img.mul(largest(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return img.to(dtype) / largest(img.dtype)
    before, after = largest(img.dtype), largest(dtype)
    if before > after:
        return polyad.div(img, int((before + 1) // (after + 1)), rounding_mode="floor").to(dtype)
    return img.to(dtype) * int((after + 1) // (before + 1))


def adjust_hue(img: Tensor, factor: float) -> Tensor:
    """See `functional.adjust_hue`."""
    if img.shape[-3] == 1:
        return img
    x = convert_dtype(img, polyad.float32) if not img.is_floating_point() else img
    hue, saturation, value = _hsv(x)
    return convert_dtype(_rgb((hue + factor) % 1.0, saturation, value), img.dtype)


def _hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    red, green, blue = img.unbind(-3)
    high, low = img.amax(-3), img.amin(-3)
    same = high == low
    span = high - low
    saturation = span / polyad.where(same, 1.0, high)
    divisor = polyad.where(same, 1.0, span)
    r, g, b = (high - red) / divisor, (high - green) / divisor, (high - blue) / divisor
    hue = polyad.where(high == red, b - g, polyad.where(high == green, 2.0 + r - b, 4.0 + g - r))
    return (polyad.where(same, 0.0, hue) / 6.0 + 1.0) % 1.0, saturation, high


def _rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    sixth = (hue * 6.0).floor()
    rest = hue * 6.0 - sixth
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - rest))).clamp(0.0, 1.0)
    sixth = sixth.to(polyad.int64) % 6
    result = []
    for order in ((value, q, p, p, t, value), (t, value, value, q, p, p), (p, p, t, value, value, q)):
        channel = order[5]
        for number in range(5):
            channel = polyad.where(sixth == number, order[number], channel)
        result.append(channel)
    return polyad.stack(result, -3)


def sample(img: Tensor, matrix: Sequence[float], size: Sequence[int], mode: InterpolationMode, fill: Any) -> Tensor:
    """A picture of *size* whose pixel at (x, y) is that of *img* at matrix (x, y, 1), both from their middles."""
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ArgumentError(
            f"rotate, affine: tensors are not interpolated by {mode}",
            fix="use NEAREST or BILINEAR, or Pillow's pictures",
        )
    x = computing(img)
    height, width = size
    columns = polyad.arange(width, dtype=x.dtype, device=x.device) - (width - 1) / 2
    rows = (polyad.arange(height, dtype=x.dtype, device=x.device) - (height - 1) / 2).unsqueeze(1)
    a, b, c, d, e, f = matrix
    across = (a * columns + b * rows + c) / (0.5 * img.shape[-1])
    down = (d * columns + e * rows + f) / (0.5 * img.shape[-2])
    grid = polyad.stack([across, down], -1).expand(len(x), -1, -1, -1)
    if fill is None:
        return stored(F.grid_sample(x, grid, mode.value, "zeros", align_corners=False), img)
    shape = (1, -1, 1, 1)
    colour = polyad.tensor(fill if isinstance(fill, Sequence) else [fill], dtype=x.dtype, device=x.device).reshape(
        shape
    )
    y = F.grid_sample(polyad.cat([x, polyad.ones_like(x[:, :1])], 1), grid, mode.value, "zeros", align_corners=False)
    y, inside = y[:, :-1], y[:, -1:]
    if mode is InterpolationMode.NEAREST:
        return stored(polyad.where(inside < 0.5, colour, y), img)
    return stored(y * inside + (1.0 - inside) * colour, img)


def gaussian_blur(img: Tensor, kernel_size: Sequence[int], sigma: Sequence[float]) -> Tensor:
    """See `functional.gaussian_blur`; both have x first."""
    x = computing(img)
    for dim, (size, deviation) in zip((-1, -2), zip(kernel_size, sigma)):
        half = (size - 1) * 0.5
        at = polyad.linspace(-half, half, size, dtype=x.dtype, device=x.device)
        weights = (-0.5 * (at / deviation) ** 2).exp()
        weights = weights / weights.sum()
        shape = (1, size) if dim == -1 else (size, 1)
        channels = x.shape[1]
        ends = (size // 2, size // 2)
        x = pad(x, (ends[0], 0, ends[1], 0) if dim == -1 else (0, ends[0], 0, ends[1]), 0, "reflect")
        x = F.conv2d(x, weights.reshape(1, 1, *shape).expand(channels, 1, *shape), groups=channels)
    return stored(x, img)


def autocontrast(img: Tensor) -> Tensor:
    """See `functional.autocontrast`."""
    bound = largest(img.dtype)
    x = img if img.is_floating_point() else img.float()
    low, high = x.amin((-2, -1), keepdim=True), x.amax((-2, -1), keepdim=True)
    flat = low == high
    scale = polyad.where(flat, 1.0, bound / polyad.where(flat, 1.0, high - low))
    return ((x - polyad.where(flat, 0.0, low)) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Tensor) -> Tensor:
    """See `functional.equalize`."""
    if img.dtype != polyad.uint8:
        raise ArgumentTypeError(f"equalize: img is {img.dtype}", fix="pass a uint8 tensor")
    planes = [_equalized(plane) for plane in img.reshape(-1, *img.shape[-2:])]
    return polyad.stack(planes).reshape(img.shape)


def _equalized(plane: Tensor) -> Tensor:
    counts = polyad.bincount(plane.reshape(-1).to(polyad.int64), minlength=256)
    step = int(counts[counts != 0][:-1].sum()) // 255
    if step == 0:
        return plane
    table = (counts.cumsum(0) + step // 2) // step
    table = F.pad(table, [1, 0])[:-1].clamp(0, 255).to(polyad.uint8)
    return table[plane.to(polyad.int64)]


def sharpness(img: Tensor, factor: float) -> Tensor:
    """See `functional.adjust_sharpness`."""
    if img.shape[-1] <= 2 or img.shape[-2] <= 2:
        return img
    x = computing(img)
    channels = x.shape[1]
    kernel = polyad.ones(3, 3, dtype=x.dtype, device=x.device)
    kernel[1, 1] = 5.0
    kernel = (kernel / kernel.sum()).expand(channels, 1, 3, 3)
    smooth = batched(img).clone()
    middle = F.conv2d(x, kernel, groups=channels)
    smooth[..., 1:-1, 1:-1] = middle if img.is_floating_point() else middle.round().clamp(0, 255).to(img.dtype)
    return blend(img, smooth.reshape(img.shape), factor)
