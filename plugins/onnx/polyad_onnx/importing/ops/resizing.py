"""Resize: which elements of an axis each new one is made of, and how much of each.

An axis is resized by a matrix with few entries in each row; axes are done one after the other. The rows are computed
on the host, since they depend on sizes alone. Formulas are those of the specification of Resize.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyad
import polyad.nn.functional as F
from polyad import Tensor
from polyad.errors import ShapeError

from ..operators import Compute, Node, operator

__all__ = ["Resizing"]

COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)  # fmt: skip


@dataclass
class Resizing:
    """The attributes of Resize."""

    mode: str
    coordinates: str
    nearest: str
    coefficient: float
    exclude: bool
    antialias: bool
    fill: float

    def places(self, size: int, new: int, scale: float, roi: tuple[float, float]) -> np.ndarray:
        """Where in an axis of *size* the centres of the *new* elements lie."""
        x = np.arange(new, dtype=np.float32)  # the type in which the specification divides: 3 / 0.6 is 5 in it
        match self.coordinates:
            case "align_corners":
                return x * (size - 1) / (size * scale - 1) if new > 1 else x * 0
            case "asymmetric":
                return x / scale
            case "tf_crop_and_resize":
                start, end = roi
                if new == 1:
                    return x + 0.5 * (start + end) * (size - 1)
                return start * (size - 1) + x * (end - start) * (size - 1) / (new - 1)
            case "half_pixel_symmetric":
                shift = size / 2 * (1 - new / (scale * size))
                return shift + (x + 0.5) / scale - 0.5
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / scale
            case "pytorch_half_pixel" if new == 1:
                return x * 0
        return (x + 0.5) / scale - 0.5

    def rows(self, at: np.ndarray, size: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """For each place the elements that it is made of, and their weights; both (places, elements)."""
        if self.mode == "nearest":
            return self.rounded(at)[:, None].clip(0, size - 1), np.ones((len(at), 1))
        narrow = min(scale, 1.0) if self.antialias else 1.0
        reach = 1 if self.mode == "linear" else 2
        first = math.floor(-reach / narrow) + 1
        offsets = np.arange(first, 2 - first if reach == 2 or narrow < 1 else 2)
        whole = np.floor(at)
        distance = np.abs((offsets[None, :] - (at - whole)[:, None]) * narrow)
        weights = np.clip(1 - distance, 0, None) if reach == 1 else self.cubic(distance)
        elements = whole[:, None] + offsets[None, :]
        if self.exclude:
            weights = np.where((elements < 0) | (elements >= size), 0.0, weights)
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
        return elements.clip(0, size - 1), weights

    def rounded(self, at: np.ndarray) -> np.ndarray:
        """The nearest element, by the rule for halves."""
        match self.nearest:
            case "floor":
                return np.floor(at)
            case "ceil":
                return np.ceil(at)
            case "round_prefer_ceil":
                return np.floor(at + 0.5)
        return np.ceil(at - 0.5)

    def cubic(self, x: np.ndarray) -> np.ndarray:
        """The kernel of cubic convolution (Keys, 1981)."""
        a = self.coefficient
        near = (a + 2) * x**3 - (a + 3) * x**2 + 1
        far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))

    def axis(self, x: Tensor, dim: int, new: int, scale: float, roi: tuple[float, float]) -> Tensor:
        """*x* with one axis resized."""
        size = x.shape[dim]
        at = self.places(size, new, scale, roi)
        elements, weights = self.rows(at, size, scale)
        picked = polyad.from_numpy(elements.astype(np.int64).reshape(-1)).to(x.device)
        taps = elements.shape[1]
        made = x.index_select(dim, picked)
        if self.mode != "nearest":
            shape = [1] * (x.ndim + 1)
            shape[dim], shape[dim + 1] = new, taps
            by = polyad.from_numpy(weights).to(device=x.device, dtype=x.dtype).reshape(shape)
            made = (made.unflatten(dim, (new, taps)) * by).sum(dim + 1)
        if self.coordinates == "tf_crop_and_resize":
            outside = polyad.from_numpy((at < 0) | (at > size - 1)).to(x.device)
            made = polyad.where(outside.reshape([-1 if each == dim else 1 for each in range(x.ndim)]), self.fill, made)
        return made

    def __call__(self, x: Tensor, sizes: list[int], scales: list[float], roi: list[float]) -> Tensor:
        """*x* in the given sizes."""
        quick = self.by_interpolate(x, sizes, scales)
        if quick is not None:
            return quick
        dtype = x.dtype
        if not dtype.is_floating_point and self.mode != "nearest":
            x = x.to(polyad.float32)
        for dim in range(x.ndim):
            ends = (roi[dim], roi[x.ndim + dim]) if roi else (0.0, 1.0)
            if sizes[dim] != x.shape[dim] or scales[dim] != 1 or ends != (0.0, 1.0):
                x = self.axis(x, dim, sizes[dim], scales[dim], ends)
        return x if x.dtype is dtype else x.round().to(dtype)

    def by_interpolate(self, x: Tensor, sizes: list[int], scales: list[float]) -> Tensor | None:
        """The same by PyTorch's function, where it computes the same."""
        if x.ndim != 4 or sizes[:2] != list(x.shape[:2]) or self.antialias or self.exclude or 0 in sizes:
            return None
        exact = all(size * scale == new for size, scale, new in zip(x.shape[2:], scales[2:], sizes[2:], strict=True))
        if not exact or not x.dtype.is_floating_point:
            return None
        if self.mode == "nearest" and self.coordinates == "asymmetric" and self.nearest == "floor":
            return F.interpolate(x, sizes[2:], mode="nearest")
        if self.mode == "linear" and self.coordinates in ("half_pixel", "align_corners"):
            corners = self.coordinates == "align_corners"
            return F.interpolate(x, sizes[2:], mode="bilinear", align_corners=corners)
        return None


@operator("Resize", since=11, host=(1, 2, 3))
def resize(node: Node) -> Compute:
    mode = node.choice("mode", "nearest", "nearest", "linear", "cubic")
    how = Resizing(
        mode,
        node.choice("coordinate_transformation_mode", "half_pixel", *COORDINATES),
        node.text("nearest_mode", "round_prefer_floor"),
        node.number("cubic_coeff_a", -0.75),
        bool(node.integer("exclude_outside", 0)),
        bool(node.integer("antialias", 0)),
        node.number("extrapolation_value", 0.0),
    )
    axes, policy = node.integers("axes"), node.text("keep_aspect_ratio_policy", "stretch")

    def call(x: Tensor, roi: Any = None, scales: Any = None, sizes: Any = None) -> Tensor:
        chosen = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
        full_roi = [0.0] * x.ndim + [1.0] * x.ndim
        if roi:
            for index, axis in enumerate(chosen):
                full_roi[axis], full_roi[x.ndim + axis] = roi[index], roi[len(chosen) + index]
        new, by = list(x.shape), [1.0] * x.ndim
        if sizes:
            ratios = [size / x.shape[axis] for size, axis in zip(sizes, chosen, strict=True)]
            if policy != "stretch":
                ratio = min(ratios) if policy == "not_larger" else max(ratios)
                ratios = [ratio] * len(chosen)
                sizes = [math.floor(ratio * x.shape[axis] + 0.5) for axis in chosen]
            for axis, size, ratio in zip(chosen, sizes, ratios, strict=True):
                new[axis], by[axis] = size, ratio
        elif scales:
            for axis, ratio in zip(chosen, scales, strict=True):
                part = full_roi[x.ndim + axis] - full_roi[axis] if how.coordinates == "tf_crop_and_resize" else 1.0
                new[axis], by[axis] = math.floor(x.shape[axis] * part * ratio), ratio
        else:
            raise ShapeError("Resize: neither scales nor sizes are given", operands={"X": x}, fix="give one of them")
        return how(x, new, by, full_roi if how.coordinates == "tf_crop_and_resize" else [])

    return call


@operator("Resize", "Upsample", host=(1,))
def upsample(node: Node) -> Compute:
    mode = {"bilinear": "linear"}.get(node.text("mode", "nearest"), node.text("mode", "nearest"))
    if mode not in ("nearest", "linear"):
        raise node.wrong(f"attribute mode is {mode!r}", fix="use nearest or linear")
    how = Resizing(mode, "asymmetric", "floor", -0.75, False, False, 0.0)
    fixed = node.numbers("scales", None)
    if fixed is None and node.number("height_scale", None) is not None:
        fixed = [1.0, 1.0, node.number("height_scale"), node.number("width_scale", 1.0)]

    def call(x: Tensor, scales: Any = fixed) -> Tensor:
        return how(x, [math.floor(size * by) for size, by in zip(x.shape, scales, strict=True)], scales, [])

    return call
