"""Sampling images at places that a tensor holds, and the grids of places that affine maps make.

Coordinates run from -1 to 1 over an image: between the centres of its corner pixels with ``align_corners``, else
between their outer edges. They name the last dimension first: (x, y) or (x, y, z).

A sample is a weighted sum of a few neighbours. Pixels are gathered as rows of channels from (pixels, C), so that one
place is looked up once for all channels. Gradients of images and grids follow from the ops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from ..dispatch.op import function
from ..dtypes import bool_, int64
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, NotSupported, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor

_HALF = 2
"""Bytes of a dtype that is computed with in float32."""


def _to_pixels(coordinate: Tensor, size: int, align_corners: bool) -> Tensor:
    """Coordinates from -1 to 1 as positions, 0 the centre of the first pixel."""
    if align_corners:
        return (coordinate + 1) * ((size - 1) / 2)
    return ((coordinate + 1) * size - 1) / 2


def _clipped(position: Tensor, size: int, align_corners: bool) -> Tensor:
    """Positions clamped to the image; the gradient is zero on its edges too, as PyTorch has it."""
    from .selection import _where

    inside = (position > 0).logical_and(position < size - 1)
    return _where(inside, position, position.detach().clamp(0, size - 1))


def _reflected(position: Tensor, size: int, align_corners: bool) -> Tensor:
    """Positions folded at the image's edges: pixel centres with *align_corners*, else half a pixel further out."""
    from .selection import _where

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


class _Pixels:
    """The pixels of a batch as rows of channels.

    *points* is how many samples there are of each image.
    """

    def __init__(self, input: Tensor, points: int) -> None:
        from .creation import arange

        images, channels, *self.size = input._array.shape
        area = math.prod(self.size)
        rows = input.flatten(2).transpose(1, 2)
        self.rows = rows.contiguous().reshape(images * area, channels)
        self.shape = (images * points, channels)
        self.images = (arange(images, device=input.device) * area).unsqueeze(1)

    def at(self, places: Sequence[Tensor]) -> Tensor:
        """The pixels at whole positions (images, points), one tensor a dimension, outermost first; zero outside."""
        from .selection import _where

        inside, index = None, self.images
        pitch = math.prod(self.size)
        for place, size in zip(places, self.size, strict=True):
            pitch //= size
            here = (place >= 0).logical_and(place <= size - 1)
            inside = here if inside is None else inside.logical_and(here)
            # Chosen before the cast, which NaN and huge numbers would not survive.
            index = index + _where(here, place, 0).to(int64) * pitch
        assert inside is not None
        found = self.rows.index_select(0, index.reshape(-1))
        return found.masked_fill(inside.logical_not().reshape(-1, 1), 0)


def _sample_nearest(pixels: _Pixels, positions: list[Tensor], pad: Callable[[Tensor, int], Tensor]) -> Tensor:
    places = [pad(one, size).detach().round() for one, size in zip(positions, pixels.size, strict=True)]
    return pixels.at(places)


def _sample_linear(pixels: _Pixels, positions: list[Tensor], pad: Callable[[Tensor, int], Tensor]) -> Tensor:
    axes = []
    for one, size in zip(positions, pixels.size, strict=True):
        position = pad(one, size)
        before = position.detach().floor()
        share = position - before
        axes.append(((before, 1 - share), (before + 1, share)))
    return _weighted(pixels, axes)


def _sample_cubic(pixels: _Pixels, positions: list[Tensor], pad: Callable[[Tensor, int], Tensor]) -> Tensor:
    from .resampling import cubic_weights

    axes = []
    for position, size in zip(positions, pixels.size, strict=True):
        before = position.detach().floor()
        weights = cubic_weights(position - before)
        axes.append(tuple([(pad(before + (tap - 1), size), weight) for tap, weight in enumerate(weights)]))
    return _weighted(pixels, axes)


def _weighted(pixels: _Pixels, axes: Sequence[Sequence[tuple[Tensor, Tensor]]]) -> Tensor:
    """The sum over all combinations of one (place, weight) of each dimension."""
    total = None
    for taps in itertools.product(*axes):
        weight = taps[0][1]
        for _, more in taps[1:]:
            weight = weight * more
        part = pixels.at([place for place, _ in taps]) * weight.reshape(-1, 1)
        total = part if total is None else total + part
    assert total is not None
    return total


_SAMPLERS = {"bilinear": _sample_linear, "nearest": _sample_nearest, "bicubic": _sample_cubic}


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
            fix="give one coordinate for each spatial dimension",
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
    for name, given, known in (("mode", mode, _SAMPLERS), ("padding_mode", padding_mode, _PADDING)):
        if given not in known:
            raise ArgumentError(
                f"grid_sample: {name} {given!r} is unknown",
                operands={"input": input},
                fix=f"use one of {', '.join(map(repr, known))}",
            )
    _check_samples(input, grid, mode)
    from .creation import ones

    corners, inside = bool(align_corners), _PADDING[padding_mode]
    dtype = input._type.dtype
    if dtype.itemsize == _HALF:
        input, grid = input.float(), grid.float()
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

    sampled = _SAMPLERS[mode](_Pixels(input, points), positions, pad)
    if mode == "nearest" and grid.requires_grad:
        # The grid has a gradient, which is zero.
        sampled = sampled + flat.sum(2).masked_fill(ones(1, dtype=bool_, device=grid.device), 0).reshape(-1, 1)
    result = sampled.reshape(places[0], points, shape[1]).transpose(1, 2).contiguous()
    return result.reshape(*shape[:2], *places[1:-1]).to(dtype)


def _steps(count: int, align_corners: bool, theta: Tensor) -> Tensor:
    """The coordinates of *count* pixels."""
    from .creation import arange

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
    if not isinstance(size, (tuple, list)) or not all(isinstance(one, int) for one in size):
        raise ArgumentTypeError(f"affine_grid: size is {size!r}, not ints", fix="give (N, C, H, W) or (N, C, D, H, W)")
    operands = {"theta": theta}
    if not theta._type.dtype.is_floating_point:
        raise ArgumentError(
            f"affine_grid: theta is {theta.dtype.name}, not floating point", operands=operands, fix="use theta.float()"
        )
    if len(size) not in (4, 5):
        raise NotSupported(
            f"affine_grid: size {tuple(size)} has {len(size)} numbers, not 4 or 5",
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
    from .creation import ones
    from .joining import stack

    spatial = tuple(size[2:])
    axes = [
        _steps(count, bool(align_corners), theta)
        .reshape([-1 if at == dim else 1 for at in range(dims)])
        .expand(spatial)
        for dim, count in enumerate(spatial)
    ]
    base = stack([*reversed(axes), ones(spatial, dtype=theta.dtype, device=theta.device)], -1)
    return (base.reshape(-1, dims + 1) @ theta.transpose(1, 2)).reshape(size[0], *spatial, dims)
