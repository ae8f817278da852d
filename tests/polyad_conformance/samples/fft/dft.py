"""Discrete Fourier transforms as ops: lengths that split in every way, and long primes."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int32

from ...sample import Sample

REAL = (float32, float64)
COMPLEX = (complex64, complex128)


def spectrum(dtype):
    return {float64: complex128, complex128: complex128}.get(dtype, complex64)


def along(x, dim, forward):
    """The sum of the definition, along one dimension."""
    size = x.shape[dim]
    places = np.outer(np.arange(size), np.arange(size)) % size
    matrix = np.exp((-2j if forward else 2j) * np.pi * places / size)
    return np.moveaxis(np.moveaxis(x, dim, -1) @ matrix, -1, dim)


def factor(count, norm, forward):
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") == forward else 1.0


def transform(x, dims, norm, forward):
    for dim in dims:
        x = along(x, dim, forward)
    return np.asarray(x + 0j) * factor(math.prod(x.shape[dim] for dim in dims), norm, forward)


def half_spectrum(x, dims, norm):
    last = dims[-1]
    return np.take(transform(x, dims, norm, True), range(x.shape[last] // 2 + 1), last)


def signal(z, dims, norm, size):
    """Hermitian extension along the last of dims; parts that cannot be of a real signal do not count."""
    last = dims[-1]
    others = transform(z, dims[:-1], norm, False) if dims[:-1] else z
    half = np.moveaxis(others, last, -1)
    rest = np.conj(half[..., 1 : size - half.shape[-1] + 1][..., ::-1])
    whole = np.concatenate([half, rest], -1)
    whole[..., 0] = whole[..., 0].real
    if size % 2 == 0:
        whole[..., size // 2] = whole[..., size // 2].real
    return np.moveaxis(transform(whole, (-1,), norm, False).real, -1, last)


def c2c(name, shape, dims, norm="backward", forward=True, dtypes=COMPLEX, **given):
    return Sample(
        op="_fft_c2c",
        name=name,
        inputs=lambda make: (make(shape), dims, norm, forward),
        reference=transform,
        dtypes=dtypes,
        result=spectrum,
        steps=4,
        length=math.prod(shape[dim] for dim in dims),
        **{"gradient": True, **given},
    )


SAMPLES = [
    c2c("4 points", (3, 4), (1,)),
    c2c("6 points, inverse", (6, 2), (0,), forward=False),
    c2c("of real numbers", (5, 4), (0,), dtypes=REAL),
    c2c("of integers", (7,), (0,), dtypes=(int32,), gradient=False),
    c2c("two dimensions", (3, 2, 5), (0, 2), "ortho"),
    c2c("divided", (2, 8), (1,), "forward", dtypes=REAL),
    c2c("one point", (3, 1), (1,)),
    c2c("no dimension", (3,), ()),
    c2c("no rows", (0, 4), (1,)),
    # 64 = 32 * 2, 210 = 30 * 7, 74 = 2 * 37, 41 and 1369 = 37**2 have no divisor up to 32 but 1.
    *[c2c(f"{size} points", (2, size), (1,), gradient=False) for size in (33, 64, 74, 210)],
    c2c("a prime", (41,), (0,), gradient=False, forward=False),
    c2c("the square of a prime", (1369,), (0,), gradient=False),
    *[
        Sample(
            op="_fft_r2c",
            name=name,
            inputs=lambda make, shape=shape, dims=dims, norm=norm: (make(shape), dims, norm),
            reference=half_spectrum,
            dtypes=REAL,
            result=spectrum,
            gradient=True,
            steps=4,
            length=math.prod(shape[dim] for dim in dims),
        )
        for name, shape, dims, norm in (
            ("even", (3, 6), (1,), "backward"),
            ("odd", (5, 2), (0,), "forward"),
            ("two dimensions", (2, 3, 4), (2, 0), "ortho"),
            ("one point", (2, 1), (1,), "backward"),
        )
    ],
    *[
        Sample(
            op="_fft_c2r",
            name=name,
            inputs=lambda make, shape=shape, dims=dims, norm=norm, size=size: (make(shape), dims, norm, size),
            reference=signal,
            dtypes=COMPLEX,
            result=lambda dtype: float32 if dtype is complex64 else float64,
            gradient=True,
            steps=4,
            length=2 * math.prod(shape[dim] for dim in dims),
        )
        for name, shape, dims, norm, size in (
            ("even", (3, 4), (1,), "backward", 6),
            ("odd", (3, 2), (0,), "forward", 5),
            ("two dimensions", (2, 3, 4), (0, 2), "ortho", 6),
            ("one point", (2, 1), (1,), "backward", 1),
            ("two points", (2, 2), (1,), "backward", 2),
        )
    ],
]

ERRORS = []
