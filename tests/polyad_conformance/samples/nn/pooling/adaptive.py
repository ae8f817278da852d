"""Adaptive pooling; the reference visits one window after the other."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int64

from ....sample import REAL_FLOATS, ErrorCase, Sample, as_int64, same
from .maximum import F, each, elements


def visit(x, dims, size):
    """For each window its position and, for each dimension, the places of its elements."""
    size = [
        have if want is None else want
        for have, want in zip(x.shape[-dims:], each(size, dims) if size is not None else [None] * dims, strict=True)
    ]
    for position in np.ndindex(*size):
        yield (
            position,
            [
                list(range(at * have // want, -(-(at + 1) * have // want)))
                for at, have, want in zip(position, x.shape[-dims:], size, strict=True)
            ],
            size,
        )


def means(dims):
    def reference(x, size):
        found = {position: elements(x, places)[0].mean(-1) for position, places, _ in visit(x, dims, size)}
        out = np.zeros((*x.shape[:-dims], *np.max(list(found), 0) + 1))
        for position, mean in found.items():
            out[(..., *position)] = mean
        return out

    return reference


def maxima(dims):
    def reference(x, size, return_indices=False):
        best = indices = None
        for position, places, wanted in visit(x, dims, size):
            if best is None:
                best = np.zeros((*x.shape[:-dims], *wanted))
                indices = np.zeros(best.shape, np.int64)
            window, flat = elements(x, places)
            chosen = window.argmax(-1)
            best[(..., *position)] = np.take_along_axis(window, chosen[..., None], -1)[..., 0]
            indices[(..., *position)] = flat[chosen]
        return (best, indices) if return_indices else best

    return reference


def averaged(dims, name, shape, size):
    return Sample(
        op=f"{F}adaptive_avg_pool{dims}d",
        name=name,
        inputs=lambda make: (make(shape), size),
        reference=means(dims),
        magnitude=lambda x, size: means(dims)(np.abs(x), size),
        dtypes=REAL_FLOATS,
        gradient=(0,),
        steps=6,
        length=9,
        aliasing="maybe",
    )


def largest(dims, name, shape, size, **settings):
    return Sample(
        op=f"{F}adaptive_max_pool{dims}d",
        name=name,
        inputs=lambda make: (make.distinct(shape), size),
        reference=maxima(dims),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        result=(same, as_int64) if settings else same,
        gradient=False if settings else (0,),
    )


SAMPLES = [
    averaged(2, "divides", (2, 1, 4, 6), (2, 3)),
    averaged(2, "does not divide", (1, 2, 5, 7), (3, 2)),
    averaged(2, "few windows of many elements", (1, 1, 3, 11), (3, 2)),
    averaged(2, "larger than the image", (1, 1, 3, 2), 4),
    averaged(2, "to one", (2, 3, 3, 4), 1),
    averaged(2, "keeps a size", (2, 5, 4), (None, 2)),
    averaged(1, "does not divide", (1, 2, 7), 3),
    averaged(3, "does not divide", (1, 1, 3, 4, 5), (2, 2, 3)),
    largest(1, "does not divide", (1, 2, 7), 3),
    largest(2, "divides", (2, 1, 4, 6), (2, 3)),
    largest(2, "does not divide", (1, 2, 5, 7), (3, 2)),
    largest(2, "indices", (2, 2, 5, 4), (2, 3), return_indices=True),
    largest(3, "indices, keeps a size", (1, 3, 4, 5), (2, None, 3), return_indices=True),
    Sample(
        op=F + "adaptive_max_pool2d",
        name="the first of equal maxima",
        inputs=lambda make: (make((1, 3, 7, 7), -1, 1).round(), (3, 4), True),
        reference=maxima(2),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
    ),
]

ERRORS = [
    ErrorCase(
        op=F + "adaptive_avg_pool2d",
        name="negative size",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), -1),
        raises=RuntimeError,
        match=r"adaptive_avg_pool2d: .*\(-1, -1\)",
    ),
    ErrorCase(
        op=F + "adaptive_avg_pool2d",
        name="three sizes",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), (1, 2, 3)),
        raises=RuntimeError,
        match=r"adaptive_avg_pool2d: output_size is \(1, 2, 3\)",
    ),
    ErrorCase(
        op=F + "adaptive_avg_pool1d",
        name="integers",
        call=lambda op, tensor: op(tensor(1, 4, dtype=int64), 2),
        raises=RuntimeError,
        match=r"adaptive_avg_pool1d: input is int64.*\n.*input",
    ),
    ErrorCase(
        op=F + "adaptive_avg_pool3d",
        name="rank",
        call=lambda op, tensor: op(tensor(4, 4), 2),
        raises=RuntimeError,
        match=r"adaptive_avg_pool3d: input has 2 dimensions",
    ),
    *(
        ErrorCase(
            op=f"{F}adaptive_max_pool{dims}d",
            name="an empty image",
            call=lambda op, tensor, dims=dims: op(tensor(1, 1, *[0] * dims), 1),
            raises=RuntimeError,
            match=rf"adaptive_max_pool{dims}d: .*cannot be pooled.*\n.*input",
        )
        for dims in (1, 2, 3)
    ),
]
