"""Sampling images at places that a tensor holds, and the grids of places that affine maps make.

Coordinates run from -1 to 1 over an image: between the centres of its corner pixels with ``align_corners``, else
between their outer edges. They name the last dimension first: (x, y) or (x, y, z).

A sample is a weighted sum of a few neighbours. Pixels are rows of channels, so that a place is looked up once for all
channels: `weighted_rows` adds them up. It and the two ops that its gradients are (`weighted_rows_backward`, `rows_dot`)
are linear in each operand, and each other's gradients. Gradients of places follow from the weights'.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...base.dtypes import bool_, int64
from ...base.shapes_and_strides import Shape
from ...dispatch.forward import multilinear
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import contraction
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, NotSupported, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import arange, ones, zeros
from ..declaring.half_types import half_to_float32
from ..pointwise.where import _where
from ..shaping.joining import stack
from .interpolate import cubic_weights
from .padding import _pad_constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...backend.interface import Signature


def _to_pixels(coordinate: Tensor, size: int, align_corners: bool) -> Tensor:
    """Coordinates from -1 to 1 as positions, 0 the centre of the first pixel."""
    if align_corners:
        return (coordinate + 1) * ((size - 1) / 2)
    return ((coordinate + 1) * size - 1) / 2


def _clipped(position: Tensor, size: int, align_corners: bool) -> Tensor:
    """Positions clamped to the image; the gradient is zero on its edges too, as PyTorch has it."""
    inside = (position > 0).logical_and(position < size - 1)
    return _where(inside, position, position.detach().clamp(0, size - 1))


def _reflected(position: Tensor, size: int, align_corners: bool) -> Tensor:
    """Positions folded at the image's edges: pixel centres with *align_corners*, else half a pixel further out."""
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span == 0:
        return position * 0
    distance = (position - low).abs()
    turns = (distance / span).floor()
    rest = distance - turns * span
    odd = turns.detach().remainder(2) == 1
    return _clipped(_where(odd, span - rest, rest) + low, size, align_corners)


_PADDING: dict[str, Callable[[Tensor, int, bool], Tensor] | None] = {
    "zeros": None,
    "border": _clipped,
    "reflection": _reflected,
}
"""How positions outside the image are brought inside; None: they are zero."""


# ------------------------------------------------------------------------------------- weighted sums of rows


def _like_first(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, types[0].dtype, None), (types[0].dtype,))


def _summed_shape(rows: Shape, weights: Shape, index: Shape) -> Shape:
    return (index[0], rows[1])


def _spread_shape(grad: Shape, weights: Shape, index: Shape, count: int) -> Shape:
    return (count, grad[1])


def _dot_shape(grad: Shape, rows: Shape, index: Shape) -> Shape:
    return index


@composite(dtype=_like_first, structure=contraction, shape=_summed_shape, method=False)
def _weighted_rows(rows: Tensor, weights: Tensor, index: Tensor) -> Tensor:
    """Row p: the sum over k of weights[p, k] * rows[index[p, k]], for rows (count, C), weights and index (P, K)."""
    total = None
    for weight, places in zip(weights.unbind(1), index.unbind(1), strict=True):
        part = rows.index_select(0, places).mul_(weight.unsqueeze(1))
        total = part if total is None else total.add_(part)
    assert total is not None
    return total


@composite(dtype=_like_first, structure=contraction, shape=_spread_shape, method=False)
def _weighted_rows_backward(grad: Tensor, weights: Tensor, index: Tensor, count: int) -> Tensor:
    """weights[p, k] * grad[p] added up at row index[p, k] of *count* rows."""
    out = zeros(count, grad._array.shape[1], dtype=grad.dtype, device=grad.device)
    for weight, places in zip(weights.unbind(1), index.unbind(1), strict=True):
        out = out.index_add(0, places, grad * weight.unsqueeze(1))
    return out


@composite(dtype=_like_first, structure=contraction, shape=_dot_shape, method=False)
def _rows_dot(grad: Tensor, rows: Tensor, index: Tensor) -> Tensor:
    """Element (p, k): the product of grad[p] with rows[index[p, k]], summed over the columns."""
    return stack([(grad * rows.index_select(0, places)).sum(1) for places in index.unbind(1)], 1)


gradient(
    _weighted_rows,
    rows=lambda g, rows_shape, weights, index: _weighted_rows_backward(g, weights, index, rows_shape[0]),
    weights=lambda g, rows, index: _rows_dot(g, rows, index),
)
multilinear(_weighted_rows, "rows", "weights")
gradient(
    _weighted_rows_backward,
    grad=lambda g, weights, index: _weighted_rows(g, weights, index),
    weights=lambda g, grad, index: _rows_dot(grad, g, index),
)
multilinear(_weighted_rows_backward, "grad", "weights")
gradient(
    _rows_dot,
    grad=lambda g, rows, index: _weighted_rows(rows, g, index),
    rows=lambda g, grad, rows_shape, index: _weighted_rows_backward(grad, g, index, rows_shape[0]),
)
multilinear(_rows_dot, "grad", "rows")


# ------------------------------------------------------------------------------------------------ neighbours

Pad = Callable[[Tensor, int], Tensor]
"""What brings positions inside an image of some size."""
Taps = tuple[Sequence[Tensor], Sequence[Tensor | None]]
"""Places along a dimension, each (images, points), and their weights; None is 1."""


def _nearest_taps(position: Tensor, size: int, pad: Pad) -> Taps:
    return (pad(position, size).detach().round(),), (None,)


def _linear_taps(position: Tensor, size: int, pad: Pad) -> Taps:
    inside = pad(position, size)
    before = inside.detach().floor()
    share = inside - before
    return (before, before + 1), (1 - share, share)


def _cubic_taps(position: Tensor, size: int, pad: Pad) -> Taps:
    before = position.detach().floor()
    return [pad(before + (tap - 1), size) for tap in range(4)], cubic_weights(position - before)


def _offset(place: Tensor, size: int, pitch: int) -> tuple[Tensor, Tensor]:
    """How many rows a whole position lies behind position 0, and whether it is inside the image."""
    inside = (place >= 0).logical_and(place <= size - 1)
    # Chosen before the cast, which NaN and huge numbers would not survive.
    offset = _where(inside, place, 0).to(int64)
    return (offset if pitch == 1 else offset * pitch), inside


def _sampled(input: Tensor, positions: Sequence[Tensor], taps_of: Callable[..., Taps], pad: Pad) -> Tensor:
    """The samples (images * points, C) at positions (images, points), a tensor for each dimension, outermost first."""
    images, channels, *size = input._array.shape
    area = pitch = math.prod(size)
    # One row of zeros more, for what is outside.
    rows = _pad_constant(input.flatten(2).transpose(1, 2).reshape(images * area, channels), (0, 1, 0, 0), 0)
    axes: list[list[Any]] = []
    for position, have in zip(positions, size, strict=True):
        pitch //= have
        places, shares = taps_of(position, have, pad)
        offsets = [_offset(place, have, pitch) for place in places]
        if not axes:
            first = (arange(images, device=input.device) * area).unsqueeze(1)
            offsets = [(offset + first, inside) for offset, inside in offsets]
        axes.append(list(zip(offsets, shares, strict=True)))
    index, weights = [], []
    for taps in itertools.product(*axes):
        (place, inside), weight = taps[0]
        for (offset, also), share in taps[1:]:
            place, inside = place + offset, inside.logical_and(also)
            weight = weight * share if weight is not None and share is not None else None
        index.append(_where(inside, place, images * area))
        weights.append(weight)
    if weights[0] is None:
        return rows.index_select(0, index[0].reshape(-1))
    known = [weight for weight in weights if weight is not None]
    return _weighted_rows(rows, stack(known, -1).flatten(0, 1), stack(index, -1).flatten(0, 1))


_TAPS = {"bilinear": _linear_taps, "nearest": _nearest_taps, "bicubic": _cubic_taps}
"""What finds the neighbours of positions along a dimension."""


def _check_samples(input: Tensor, grid: Tensor, mode: str) -> None:
    operands = {"input": input, "grid": grid}
    shape, places = input._array.shape, grid._array.shape
    if input._type.dtype is not grid._type.dtype or not input._type.dtype.is_floating_point:
        raise DTypeError(
            "grid_sample: input and grid must have one floating point dtype", operands=operands, fix="convert the grid"
        )
    if len(shape) not in (4, 5) or len(places) != len(shape):
        raise ShapeError(
            f"grid_sample: input has {len(shape)} dimensions and grid {len(places)}, not both 4 or both 5",
            operands=operands,
            fix="give (N, C, H, W) and (N, OH, OW, 2), or (N, C, D, H, W) and (N, OD, OH, OW, 3)",
        )
    if places[-1] != len(shape) - 2:
        raise ShapeError(
            f"grid_sample: the last dimension of grid is {places[-1]}, not {len(shape) - 2}",
            operands=operands,
            fix="give a coordinate for each spatial dimension",
        )
    if shape[0] != places[0]:
        raise ShapeError(
            f"grid_sample: input has {shape[0]} images, grid {places[0]}",
            operands=operands,
            fix="give a grid for each image",
        )
    if 0 in shape[2:]:
        raise ShapeError("grid_sample: the images are empty", operands=operands, fix="give sizes of at least 1")
    if mode == "bicubic" and len(shape) == 5:
        raise ShapeError(
            "grid_sample: mode 'bicubic' takes 4 dimensions, not 5", operands=operands, fix="use mode='bilinear'"
        )


@function(method=False, namespace="nn.functional")
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The images' values at the places that *grid* holds.

    Shapes: input (N, C, H, W), grid (N, OH, OW, 2) of (x, y) -> (N, C, OH, OW); or input (N, C, D, H, W), grid
    (N, OD, OH, OW, 3) of (x, y, z) -> (N, C, OD, OH, OW). One floating point dtype; float16 and bfloat16 are computed
    in float32. Coordinates run from -1 to 1 over the image: between the corner pixels' centres with *align_corners*,
    else between their outer edges. *mode* is "bilinear" (between all neighbours, in volumes too), "nearest" or
    "bicubic" (4 dimensions). *padding_mode* says what is outside: "zeros", "border" (the nearest edge) or "reflection".

    Raises ValueError for an unknown mode, RuntimeError for shapes and dtypes that do not fit. Gradients flow to input
    and, but for "nearest", to grid.

    >>> import polyad
    >>> image = polyad.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> centre = polyad.zeros(1, 1, 1, 2)
    >>> polyad.nn.functional.grid_sample(image, centre, align_corners=False)
    tensor([[[[2.5000]]]])
    """
    check_tensor(input, "grid_sample", "input")
    check_tensor(grid, "grid_sample", "grid")
    for name, given, known in (("mode", mode, _TAPS), ("padding_mode", padding_mode, _PADDING)):
        if given not in known:
            raise ArgumentError(
                f"grid_sample: {name} {safe_repr(given)} is unknown",
                operands={"input": input},
                fix=f"use one of {', '.join(map(repr, known))}",
            )
    _check_samples(input, grid, mode)
    corners, inside = bool(align_corners), _PADDING[padding_mode]
    dtype = input._type.dtype
    input, grid = half_to_float32(input), half_to_float32(grid)
    shape, places = input._array.shape, grid._array.shape
    points = math.prod(places[1:-1])
    flat = grid.reshape(places[0], points, places[-1])
    # Coordinates are listed last dimension first.
    positions = [
        _to_pixels(coordinate, size, corners)
        for coordinate, size in zip(reversed(flat.unbind(2)), shape[2:], strict=True)
    ]

    def pad(position: Tensor, size: int) -> Tensor:
        return position if inside is None else inside(position, size, corners)

    sampled = _sampled(input, positions, _TAPS[mode], pad)
    if mode == "nearest" and grid.requires_grad:
        # The grid has a gradient, which is zero.
        sampled = sampled + flat.sum(2).masked_fill(ones(1, dtype=bool_, device=grid.device), 0).reshape(-1, 1)
    result = sampled.reshape(places[0], points, shape[1]).transpose(1, 2).contiguous()
    return result.reshape(*shape[:2], *places[1:-1]).to(dtype)


def _pixel_coordinates(count: int, align_corners: bool, theta: Tensor) -> Tensor:
    """The coordinates of *count* pixels."""
    if count == 1:
        return arange(1, dtype=theta.dtype, device=theta.device)
    steps = arange(count, dtype=theta.dtype, device=theta.device) * (2 / (count - 1)) - 1
    return steps if align_corners else steps * ((count - 1) / count)


@function(method=False, namespace="nn.functional")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid of places at which `grid_sample` transforms images by the affine maps *theta*.

    Shapes: theta (N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); theta (N, 3, 4), size (N, C, D, H, W) ->
    (N, D, H, W, 3). Floating point. Place (x, y) of the result reads the image at theta @ (x, y, 1).

    Raises ValueError for shapes, sizes and dtypes that do not fit, NotImplementedError for sizes of other lengths.

    >>> import polyad
    >>> same = polyad.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> polyad.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    check_tensor(theta, "affine_grid", "theta")
    if not isinstance(size, (tuple, list)) or not all(isinstance(extent, int) for extent in size):
        raise ArgumentTypeError(
            f"affine_grid: size is {safe_repr(size)}, not ints", fix="give (N, C, H, W) or (N, C, D, H, W)"
        )
    operands = {"theta": theta}
    if not theta._type.dtype.is_floating_point:
        raise ArgumentError(
            f"affine_grid: theta is {theta.dtype.name}, not floating point", operands=operands, fix="use theta.float()"
        )
    if len(size) not in (4, 5):
        raise NotSupported(
            f"affine_grid: size {safe_repr(tuple(size))} has {len(size)} numbers, not 4 or 5",
            operands=operands,
            fix="give (N, C, H, W) or (N, C, D, H, W)",
        )
    dims = len(size) - 2
    expected: Shape = (size[0], dims, dims + 1)
    if theta._array.shape != expected or min(size) < 1:
        raise ArgumentError(
            f"affine_grid: theta {tuple(theta.shape)} and size {tuple(size)} do not fit: theta must be {expected}, "
            "sizes at least 1",
            operands=operands,
            fix="give a matrix for each image",
        )
    spatial = tuple(size[2:])
    axes = [
        _pixel_coordinates(count, bool(align_corners), theta)
        .reshape([-1 if at == dim else 1 for at in range(dims)])
        .expand(spatial)
        for dim, count in enumerate(spatial)
    ]
    base = stack([*reversed(axes), ones(spatial, dtype=theta.dtype, device=theta.device)], -1)
    return (base.reshape(-1, dims + 1) @ theta.transpose(1, 2)).reshape(size[0], *spatial, dims)
