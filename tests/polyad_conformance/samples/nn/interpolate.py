"""Interpolation; the references weigh every element of the input for every element of the result."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import int64, uint8

from ...sample import REAL_FLOATS, ErrorCase, Sample

F = "nn.functional."


def triangle(t):
    return max(0.0, 1 - abs(t))


def keys(a):
    """Keys' cubic convolution kernel."""

    def kernel(t):
        t = abs(t)
        if t < 1:
            return (a + 2) * t**3 - (a + 3) * t**2 + 1
        return a * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0.0

    return kernel


def lanczos(t):
    return np.sinc(t) * np.sinc(t / 3) if abs(t) < 3 else 0.0


def matrix(size, count, scale, mode, align_corners, antialias):
    """What each element of the result takes of each element of the input."""
    weights = np.zeros((count, size))
    for i in range(count):
        if mode in ("nearest", "nearest-exact"):
            place = math.floor((i + (0.5 if mode == "nearest-exact" else 0)) * scale)
            weights[i, min(place, size - 1)] = 1
        elif antialias:
            kernel, reach = {"bicubic": (keys(-0.5), 2), "lanczos": (lanczos, 3)}.get(mode, (triangle, 1))
            center, stretch = (i + 0.5) * scale, max(scale, 1)
            first = max(int(center - reach * stretch + 0.5), 0)
            for j in range(first, min(int(center + reach * stretch + 0.5), size)):
                weights[i, j] = kernel((j - center + 0.5) / stretch)
            weights[i] /= weights[i].sum()
        else:
            source = i * scale if align_corners else (i + 0.5) * scale - 0.5
            if mode == "bicubic":
                kernel, taps = keys(-0.75), range(-1, 3)
            else:
                kernel, taps, source = triangle, range(2), max(source, 0)
            for tap in taps:
                j = math.floor(source) + tap
                # Beyond the edges lies the edge.
                weights[i, min(max(j, 0), size - 1)] += kernel(source - j)
    return weights


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, antialias=False):
    dims = x.ndim - 2
    for dim in range(dims):
        have = x.shape[dim + 2]
        factor = scale_factor[dim] if isinstance(scale_factor, tuple) else scale_factor
        want = (size[dim] if isinstance(size, tuple) else size) if size is not None else int(have * factor)
        if align_corners:
            scale = (have - 1) / (want - 1) if want > 1 else 0
        else:
            scale = have / want if factor is None else 1 / factor
        if mode == "area":
            weights = np.zeros((want, have))
            for i in range(want):
                window = slice(i * have // want, -(-(i + 1) * have // want))
                weights[i, window] = 1 / (window.stop - window.start)
        else:
            weights = matrix(have, want, scale, mode, align_corners, antialias)
        x = np.moveaxis(np.moveaxis(x, dim + 2, -1) @ weights.T, -1, dim + 2)
    return x


def sample(name, shape, dtypes=REAL_FLOATS, **settings):
    return Sample(
        op=F + "interpolate",
        name=name,
        inputs=lambda make: (make(shape),),
        reference=interpolate,
        magnitude=lambda x, **settings: np.full_like(interpolate(x, **settings), np.abs(x).max()),
        kwargs=settings,
        dtypes=dtypes,
        gradient=dtypes is REAL_FLOATS,
        # Positions and weights are rounded too, then up to three dimensions.
        steps=40,
        length=16,
    )


def tap_arrays(make):
    weights = make((2, 5))
    return make((2, 4, 3)), weights, np.array([[0, 0, 1, 3, 3], [1, 2, 3, 0, 3]]), 1


def resampled(x, weights, places, dim):
    return sum(np.take(x, place, dim) * weight[:, None] for weight, place in zip(weights, places, strict=True))


SAMPLES = [
    sample("nearest, whole multiples", (1, 2, 3, 2), scale_factor=(2, 3)),
    sample("nearest", (1, 2, 5, 4), size=(3, 7)),
    sample("nearest, volumes", (1, 1, 2, 3, 2), scale_factor=1.5),
    sample("nearest-exact", (2, 1, 7), size=5, mode="nearest-exact"),
    sample("linear", (2, 2, 5), size=8, mode="linear"),
    sample("bilinear", (1, 2, 4, 5), scale_factor=(1.5, 0.7), mode="bilinear"),
    sample("bilinear, corners", (1, 1, 4, 3), size=(6, 2), mode="bilinear", align_corners=True),
    sample("trilinear", (1, 1, 2, 3, 2), size=(3, 2, 4), mode="trilinear"),
    sample("bicubic", (1, 1, 4, 3), size=(3, 5), mode="bicubic"),
    sample("bicubic, corners", (1, 1, 3, 4), size=(5, 3), mode="bicubic", align_corners=True),
    sample("bilinear, antialias", (1, 1, 7, 4), size=(3, 6), mode="bilinear", antialias=True),
    sample("bicubic, antialias", (1, 1, 6, 5), size=(4, 2), mode="bicubic", antialias=True),
    sample("lanczos", (1, 1, 7, 5), size=(3, 8), mode="lanczos", antialias=True),
    sample("area", (1, 2, 5, 4), size=(2, 3), mode="area"),
    sample("nearest of bytes", (1, 2, 3, 4), (uint8,), size=5),
    *[
        Sample(
            op=F + op,
            inputs=lambda make: (make((1, 2, 3, 4)), (4, 6)),
            reference=lambda x, size, mode=mode, corners=corners: interpolate(x, size, None, mode, corners),
            magnitude=lambda x, size: np.full((1, 2, *size), np.abs(x).max()),
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=40,
            length=16,
        )
        for op, mode, corners in (
            ("upsample", "nearest", None),
            ("upsample_nearest", "nearest", None),
            ("upsample_bilinear", "bilinear", True),
        )
    ],
    Sample(
        op="_resample",
        inputs=tap_arrays,
        reference=resampled,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        steps=6,
        length=2,
        expand=False,
    ),
]


def refused(name, raises, match, *shape, **settings):
    return ErrorCase(
        op=F + "interpolate",
        name=name,
        call=lambda op, tensor: op(tensor(*shape), **settings),
        raises=raises,
        match=match,
    )


ERRORS = [
    refused("no size", ValueError, r"interpolate: neither size nor scale_factor given\n.*input", 1, 1, 4),
    refused(
        "both sizes", ValueError, r"interpolate: both size and scale_factor given", 1, 1, 4, size=2, scale_factor=2
    ),
    refused("three sizes", ValueError, r"interpolate: size \(1, 2, 3\) has 3 numbers", 1, 1, 4, 4, size=(1, 2, 3)),
    refused("mode", NotImplementedError, r"interpolate: mode 'cubic' is unknown", 1, 1, 4, size=2, mode="cubic"),
    refused(
        "dimensions", NotImplementedError, r"interpolate: mode 'bilinear' takes 4", 1, 1, 4, size=2, mode="bilinear"
    ),
    refused("corners", ValueError, r"interpolate: mode 'nearest' takes no align", 1, 1, 4, size=2, align_corners=True),
    refused("antialias", ValueError, r"interpolate: mode 'nearest' has no antialias", 1, 1, 4, size=2, antialias=True),
    refused("nothing", RuntimeError, r"interpolate: \(1, 1, 4\) cannot be brought to \(0,\)", 1, 1, 4, size=0),
    ErrorCase(
        op=F + "interpolate",
        name="integers",
        call=lambda op, tensor: op(tensor(1, 1, 4, dtype=int64), size=2, mode="linear"),
        raises=RuntimeError,
        match=r"interpolate: input is int64.*\n.*input",
    ),
]
