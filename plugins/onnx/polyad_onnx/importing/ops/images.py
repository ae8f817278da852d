"""Pictures: samples at places, regions, boxes, files."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

import polyad
import polyad.nn.functional as F
from polyad import Tensor
from polyad.errors import PolyadError, SerializationError

from ..elements import to_array
from ..operators import Compute, Node, operator

__all__: list[str] = []


@operator("GridSample")
def grid_sample(node: Node) -> Compute:
    mode = node.choice("mode", "bilinear", "bilinear", "linear", "nearest", "bicubic", "cubic")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    padding = node.choice("padding_mode", "zeros", "zeros", "border", "reflection")
    corners = bool(node.integer("align_corners", 0))
    return lambda x, grid: F.grid_sample(x, grid.to(x.dtype), mode, padding, corners)


@operator("RoiAlign", host=(1, 2))
def roi_align(node: Node) -> Compute:
    height, width = node.integer("output_height", 1), node.integer("output_width", 1)
    ratio, scale = node.integer("sampling_ratio", 0), node.number("spatial_scale", 1.0)
    largest = node.choice("mode", "avg", "avg", "max") == "max"
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    shift = 0.5 if node.text("coordinate_transformation_mode", default) == "half_pixel" else 0.0

    def one(x: Tensor, region: list[float], index: int) -> Tensor:
        left, top, right, bottom = (each * scale - shift for each in region)
        w, h = right - left, bottom - top
        if not shift:
            w, h = max(w, 1.0), max(h, 1.0)
        rows, columns = ratio or math.ceil(h / height), ratio or math.ceil(w / width)
        y = top + (np.arange(height * rows) + 0.5) * h / (height * rows)
        z = left + (np.arange(width * columns) + 0.5) * w / (width * columns)
        weights = [_corners(y, x.shape[2]), _corners(z, x.shape[3])]
        parts = []
        for place_y, weight_y in weights[0]:
            for place_x, weight_x in weights[1]:
                picked = x[index].index_select(1, _on(place_y, x)).index_select(2, _on(place_x, x))
                parts.append(picked * (_on(weight_y, x)[:, None] * _on(weight_x, x)[None, :]).to(x.dtype))
        if largest:
            seen = parts[0]
            for part in parts[1:]:
                seen = polyad.maximum(seen, part)
            return seen.reshape(-1, height, rows, width, columns).amax((2, 4))
        seen = parts[0] + parts[1] + parts[2] + parts[3]
        return seen.reshape(-1, height, rows, width, columns).mean((2, 4))

    def call(x: Tensor, regions: Any, batch: Any) -> Tensor:
        if not regions:
            return x.new_zeros(0, x.shape[1], height, width)
        return polyad.stack([one(x, region, index) for region, index in zip(regions, batch, strict=True)])

    return call


def _on(array: np.ndarray, x: Tensor) -> Tensor:
    return polyad.from_numpy(array).to(x.device)


def _corners(at: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The two elements beside each place, with their weights; places far outside weigh nothing."""
    inside = (at >= -1) & (at <= size)
    at = at.clip(0, None)
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    fraction = np.where(low >= size - 1, 0.0, at - low)
    return [(low, inside * (1 - fraction)), (high, inside * fraction)]


@operator("NonMaxSuppression", host=(2, 3, 4))
def non_max_suppression(node: Node) -> Compute:
    centred = bool(node.integer("center_point_box", 0))

    def call(boxes: Tensor, scores: Tensor, most: Any = None, overlap: Any = None, least: Any = None) -> Tensor:
        most, overlap, least = (None if each is None else each[0] for each in (most, overlap, least))
        corners = _as_corners(to_array(boxes).astype(np.float64), centred)
        numbers = to_array(scores)
        made = []
        for batch in range(numbers.shape[0]):
            for kind in range(numbers.shape[1]):
                chosen = _suppressed(corners[batch], numbers[batch, kind], int(most or 0), overlap or 0.0, least)
                made += [[batch, kind, index] for index in chosen]
        return polyad.tensor(made, dtype=polyad.int64, device=node.device).reshape(-1, 3)

    return call


def _as_corners(boxes: np.ndarray, centred: bool) -> np.ndarray:
    """Boxes as least and greatest coordinates."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centred:
        first, second = first - second / 2, first + second / 2
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _suppressed(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float, least: Any) -> list[int]:
    """The boxes that no better one overlaps by more than *overlap* of their union."""
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = np.argsort(-scores, kind="stable")
    if least is not None:
        order = order[scores[order] > least]
    chosen: list[int] = []
    while len(order) and len(chosen) < most:
        best, order = order[0], order[1:]
        chosen.append(int(best))
        low = np.maximum(boxes[best, :2], boxes[order, :2])
        high = np.minimum(boxes[best, 2:], boxes[order, 2:])
        common = np.prod(np.clip(high - low, 0, None), -1)
        union = area[best] + area[order] - common
        order = order[common <= overlap * union]
    return chosen


class PictureMissing(PolyadError, ImportError):
    """Pillow, which reads pictures, is not installed."""


@operator("ImageDecoder")
def image_decoder(node: Node) -> Compute:
    form = node.choice("pixel_format", "RGB", "RGB", "BGR", "Grayscale")

    def call(data: Tensor) -> Tensor:
        try:
            from PIL import Image
        except ImportError as error:
            raise PictureMissing("ImageDecoder: Pillow is not installed", fix="pip install 'polyad[images]'") from error
        try:
            with Image.open(io.BytesIO(to_array(data).tobytes())) as picture:
                array = np.array(picture.convert("L" if form == "Grayscale" else "RGB"))
        except (OSError, SyntaxError, ValueError) as error:
            raise SerializationError(
                f"ImageDecoder: it cannot be read as a picture: {error}", fix="use another copy"
            ) from error
        array = array[..., None] if form == "Grayscale" else array[..., ::-1] if form == "BGR" else array
        return polyad.from_numpy(np.ascontiguousarray(array)).to(node.device)

    return call
