"""Fractional max pooling; the reference visits one window after the other."""

from __future__ import annotations

import numpy as np

from ....sample import REAL_FLOATS, ErrorCase, Sample, as_int64, same
from .maximum import F, each, elements

SAMPLES_OF_ONE = np.array([[[0.25, 0.5], [0.8125, 0.125]]])
"""The random numbers of one image with two channels: exact in every dtype."""


def starts(sample, have, kernel, count):
    """Where windows begin along one dimension."""
    if count == 1:
        return [have - kernel]
    alpha = (have - kernel) / (count - 1)
    return [int((at + sample) * alpha) - int(sample * alpha) for at in range(count - 1)] + [have - kernel]


def pooled(x, kernel_size, output_size, samples, return_indices=False):
    dims = x.ndim - 2
    kernel, size = each(kernel_size, dims), each(output_size, dims)
    best, indices = np.zeros((*x.shape[:2], *size)), np.zeros((*x.shape[:2], *size), np.int64)
    for image, channel in np.ndindex(*x.shape[:2]):
        # Of images the width's random number comes first, of volumes the depth's.
        numbers = samples[image, channel] if dims == 3 else samples[image, channel, ::-1]
        begin = [starts(*axis) for axis in zip(numbers, x.shape[2:], kernel, size, strict=True)]
        for position in np.ndindex(*size):
            places = [
                list(range(axis[at], axis[at] + extent))
                for axis, at, extent in zip(begin, position, kernel, strict=True)
            ]
            window, flat = elements(x[image, channel], places)
            best[(image, channel, *position)] = window.max()
            indices[(image, channel, *position)] = flat[window.argmax()]
    return (best, indices) if return_indices else best


SAMPLES = [
    Sample(
        op=F + "fractional_max_pool2d",
        name="given samples",
        inputs=lambda make: (
            make.distinct((1, 2, 7, 6)),
            (2, 3),
            (4, 3),
            None,
            True,
            SAMPLES_OF_ONE.astype(make(()).dtype),
        ),
        reference=lambda x, kernel, size, ratio, indices, samples: pooled(x, kernel, size, samples, indices),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
        expand=False,
    ),
    Sample(
        op="_fractional_max_pool",
        inputs=lambda make: (
            make.distinct((1, 2, 5, 6)),
            SAMPLES_OF_ONE.astype(make(()).dtype),
            (2, 2),
            (3, 4),
        ),
        reference=lambda x, samples, kernel, size: pooled(x, kernel, size, samples, True),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
        gradient=(0,),
        expand=False,
    ),
    Sample(
        op=F + "fractional_max_pool2d",
        name="a ratio, one image",
        inputs=lambda make: (
            make.distinct((2, 7, 6)),
            2,
            None,
            (0.5, 0.4),
            False,
            SAMPLES_OF_ONE.astype(make(()).dtype),
        ),
        reference=lambda x, kernel, size, ratio, indices, samples: pooled(x[None], kernel, (3, 2), samples)[0],
        dtypes=REAL_FLOATS,
        gradient=(0,),
        expand=False,
    ),
    Sample(
        op=F + "fractional_max_pool3d",
        name="given samples",
        inputs=lambda make: (
            make.distinct((1, 1, 5, 4, 5)),
            2,
            (3, 2, 1),
            None,
            False,
            np.array([[[0.25, 0.5, 0.75]]]).astype(make(()).dtype),
        ),
        reference=lambda x, kernel, size, ratio, indices, samples: pooled(x, kernel, size, samples),
        dtypes=REAL_FLOATS,
        gradient=(0,),
    ),
]

ERRORS = [
    ErrorCase(
        op=F + "fractional_max_pool2d",
        name="windows do not fit",
        call=lambda op, tensor: op(tensor(1, 4, 4), 3, 3),
        raises=RuntimeError,
        match=r"fractional_max_pool2d: 3 windows of 3 do not fit a height of 4\n.*input",
    ),
    ErrorCase(
        op=F + "fractional_max_pool2d",
        name="no size",
        call=lambda op, tensor: op(tensor(1, 4, 4), 2),
        raises=ValueError,
        match=r"fractional_max_pool2d: neither of output_size and output_ratio given\n.*input",
    ),
    ErrorCase(
        op=F + "fractional_max_pool3d",
        name="ratio",
        call=lambda op, tensor: op(tensor(1, 4, 4, 4), 2, output_ratio=2.0),
        raises=RuntimeError,
        match=r"fractional_max_pool3d: output_ratio 2.0 must be 3 numbers between 0 and 1\n.*input",
    ),
]
