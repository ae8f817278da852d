"""Sampling at the places of a grid; the reference weighs the neighbours of one place after the other."""

from __future__ import annotations

import itertools
import math

import numpy as np

from polyad.base.dtypes import float64, int64

from ...sample import REAL_FLOATS, ErrorCase, Sample

F = "nn.functional."


def inside(position, size, padding_mode, align_corners):
    """A position brought inside the image, as the padding mode says."""
    if padding_mode == "reflection":
        low, high = (0, size - 1) if align_corners else (-0.5, size - 0.5)
        while high > low and not low <= position <= high:
            position = 2 * (low if position < low else high) - position
        position = position if high > low else 0
    return position if padding_mode == "zeros" else min(max(position, 0), size - 1)


def keys(t, a=-0.75):
    t = abs(t)
    return (a + 2) * t**3 - (a + 3) * t**2 + 1 if t < 1 else a * (t**3 - 5 * t**2 + 8 * t - 4)


def taps_of(coordinate, size, mode, padding_mode, align_corners):
    """(place, weight) of the neighbours along one dimension."""
    position = (coordinate + 1) / 2 * (size - 1) if align_corners else ((coordinate + 1) * size - 1) / 2
    if mode == "bicubic":
        first = math.floor(position) - 1
        return [
            (inside(place, size, padding_mode, align_corners), keys(position - place))
            for place in range(first, first + 4)
        ]
    position = inside(position, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(round(position), 1.0)]
    first = math.floor(position)
    return [(first, first + 1 - position), (first + 1, position - first)]


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    size = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for image, *position in np.ndindex(*grid.shape[:-1]):
        coordinates = grid[(image, *position)][::-1]
        axes = [taps_of(*one, mode, padding_mode, align_corners) for one in zip(coordinates, size, strict=True)]
        for taps in itertools.product(*axes):
            places = [int(place) for place, _ in taps]
            if all(0 <= place < have for place, have in zip(places, size, strict=True)):
                weight = math.prod(weight for _, weight in taps)
                out[(image, slice(None), *position)] += weight * x[(image, slice(None), *places)]
    return out


def affine_grid(theta, size, align_corners=False):
    axes = []
    for count in size[2:]:
        steps = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        axes.append(steps if align_corners else steps * (count - 1) / count)
    out = np.zeros((len(theta), *size[2:], theta.shape[1]))
    for position in np.ndindex(*size[2:]):
        place = [axis[at] for axis, at in zip(axes, position, strict=True)][::-1]
        out[(slice(None), *position)] = theta @ [*place, 1]
    return out


def between_pixels(make, shape, size, align_corners):
    """Coordinates up to one and a half pixels outside the image, away from the kinks at pixels and at its edges."""
    dims = []
    for have in reversed(size):
        # Eighths are exact in every dtype; edges lie at halves, pixels at whole numbers.
        position = make.random.integers(-1, have, shape) + make.random.choice([0.125, 0.375, 0.625, 0.875], shape)
        dims.append(2 * position / max(have - 1, 1) - 1 if align_corners else (2 * position + 1) / have - 1)
    return np.stack(dims, -1).astype(make(()).dtype)


def sample(name, shape, places, **settings):
    corners = settings["align_corners"]
    return Sample(
        op=F + "grid_sample",
        name=name,
        inputs=lambda make: (make(shape), between_pixels(make, (shape[0], *places), shape[2:], corners)),
        reference=grid_sample,
        magnitude=lambda x, grid, **settings: np.full((*x.shape[:2], *grid.shape[1:-1]), np.abs(x).max()),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=(0,) if settings.get("mode") == "nearest" else True,
        # Coordinates are rounded before they are multiplied by the size; cubic weights add to that.
        steps=60,
        length=16,
        expand=False,
    )


def affine(name, theta, size, **settings):
    return Sample(
        op=F + "affine_grid",
        name=name,
        inputs=lambda make: (make(theta), size),
        reference=affine_grid,
        magnitude=lambda theta, size, **settings: affine_grid(np.abs(theta), size, True) * 0 + 6,
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        steps=6,
        length=4,
    )


def weighted(rows, weights, index):
    return (rows[index] * weights[..., None]).sum(1)


def spread(g, weights, index, count):
    out = np.zeros((count, g.shape[1]))
    np.add.at(out, index, g[:, None] * weights[..., None])
    return out


def dots(g, rows, index):
    return (g[:, None] * rows[index]).sum(-1)


def rows_op(op, reference, first, second, *params):
    """An op of two matrices and places (5 points, 3 taps) among 4 rows."""
    return Sample(
        op=op,
        inputs=lambda make: (make(first), make(second), make.index((5, 3), 4), *params),
        reference=reference,
        magnitude=lambda a, b, *rest: reference(np.abs(a), np.abs(b), *rest),
        dtypes=REAL_FLOATS,
        gradient=(0, 1),
        steps=4,
        length=15,
        expand=False,
    )


SAMPLES = [
    rows_op("_weighted_rows", weighted, (4, 2), (5, 3)),
    rows_op("_weighted_rows_backward", spread, (5, 2), (5, 3), 4),
    rows_op("_rows_dot", dots, (5, 2), (4, 2)),
    sample("zeros", (2, 2, 3, 4), (2, 3), align_corners=False),
    sample("border, corners", (1, 2, 4, 3), (3, 2), padding_mode="border", align_corners=True),
    sample("reflection", (1, 1, 4, 4), (2, 4), padding_mode="reflection", align_corners=False),
    sample("reflection, corners", (1, 1, 3, 4), (2, 4), padding_mode="reflection", align_corners=True),
    sample("nearest", (1, 2, 4, 4), (3, 3), mode="nearest", align_corners=False),
    sample("bicubic", (1, 1, 4, 4), (2, 3), mode="bicubic", align_corners=False),
    sample("bicubic, border, corners", (1, 1, 3, 4), (2, 2), mode="bicubic", padding_mode="border", align_corners=True),
    sample("volumes", (1, 2, 2, 4, 2), (2, 1, 2), align_corners=False),
    sample(
        "volumes, nearest, border",
        (1, 1, 4, 2, 2),
        (2, 2, 1),
        mode="nearest",
        padding_mode="border",
        align_corners=False,
    ),
    affine("images", (2, 2, 3), (2, 1, 2, 3), align_corners=False),
    affine("images, corners", (1, 2, 3), (1, 1, 1, 4), align_corners=True),
    affine("volumes", (1, 3, 4), (1, 1, 2, 1, 3), align_corners=False),
]

ERRORS = [
    ErrorCase(
        op=F + "grid_sample",
        name="mode",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), tensor(1, 2, 2, 2), mode="linear"),
        raises=ValueError,
        match=r"grid_sample: mode 'linear' is unknown\n.*input",
    ),
    ErrorCase(
        op=F + "grid_sample",
        name="coordinates",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), tensor(1, 2, 2, 3)),
        raises=RuntimeError,
        match=r"grid_sample: the last dimension of grid is 3, not 2\n.*input .*\n.*grid",
    ),
    ErrorCase(
        op=F + "grid_sample",
        name="dtypes differ",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), tensor(1, 2, 2, 2, dtype=float64)),
        raises=RuntimeError,
        match=r"grid_sample: input and grid must have one",
    ),
    ErrorCase(
        op=F + "grid_sample",
        name="batches differ",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), tensor(2, 2, 2, 2)),
        raises=RuntimeError,
        match=r"grid_sample: input has 1 images, grid 2",
    ),
    ErrorCase(
        op=F + "affine_grid",
        name="matrix",
        call=lambda op, tensor: op(tensor(1, 3, 3), (1, 1, 2, 2)),
        raises=ValueError,
        match=r"affine_grid: theta \(1, 3, 3\) and size \(1, 1, 2, 2\) do not fit.*\n.*theta",
    ),
    ErrorCase(
        op=F + "affine_grid",
        name="integers",
        call=lambda op, tensor: op(tensor(1, 2, 3, dtype=int64), (1, 1, 2, 2)),
        raises=ValueError,
        match=r"affine_grid: theta is int64",
    ),
    ErrorCase(
        op=F + "affine_grid",
        name="three sizes",
        call=lambda op, tensor: op(tensor(1, 2, 3), (1, 2, 2)),
        raises=NotImplementedError,
        match=r"affine_grid: size \(1, 2, 2\) has 3 numbers",
    ),
]
