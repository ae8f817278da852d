"""Pooling; the reference visits one window after the other."""

from __future__ import annotations

import math

import numpy as np

from polyad.dtypes import bool_, int64

from ..sample import REAL, REAL_FLOATS, ErrorCase, Sample, as_int64, same


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def count(size, kernel, stride, padding, dilation, ceil_mode):
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    made = (math.ceil if ceil_mode else math.floor)(free / stride) + 1
    # A window that begins in the padding behind the image is not used.
    return made - 1 if ceil_mode and (made - 1) * stride >= size + padding else made


def visit(x, kernel_size, stride, padding, dilation, ceil_mode):
    """(row, column, rows, columns) of each window: the places of its elements that lie inside the image."""
    settings = [pair(kernel_size), pair(kernel_size if stride is None else stride), pair(padding), pair(dilation)]
    axes = []
    for size, kernel, step, amount, spacing in zip(x.shape[-2:], *settings, strict=True):
        starts = [position * step - amount for position in range(count(size, kernel, step, amount, spacing, ceil_mode))]
        axes.append(
            [[start + spacing * tap for tap in range(kernel) if 0 <= start + spacing * tap < size] for start in starts]
        )
    for i, rows in enumerate(axes[0]):
        for j, columns in enumerate(axes[1]):
            yield i, j, rows, columns, (len(axes[0]), len(axes[1]))


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    best = indices = None
    for i, j, rows, columns, size in visit(x, kernel_size, stride, padding, dilation, ceil_mode):
        if best is None:
            best, indices = np.zeros((*x.shape[:-2], *size), x.dtype), np.zeros((*x.shape[:-2], *size), np.int64)
        window = x[..., rows, :][..., columns].reshape(*x.shape[:-2], len(rows) * len(columns))
        places = (np.array(rows)[:, None] * x.shape[-1] + columns).ravel()
        chosen = window.argmax(-1)
        best[..., i, j], indices[..., i, j] = np.take_along_axis(window, chosen[..., None], -1)[..., 0], places[chosen]
    return (best, indices) if return_indices else best


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    out = None
    kernel, step, around = pair(kernel_size), pair(kernel_size if stride is None else stride), pair(padding)
    for i, j, rows, columns, size in visit(x, kernel_size, stride, padding, 1, ceil_mode):
        if out is None:
            out = np.zeros((*x.shape[:-2], *size))
        # How much of the window lies inside the padded image: a rounded-up size lets the last one reach beyond it.
        whole = [
            min(at * s - p + k, n + p) - (at * s - p)
            for at, k, s, p, n in zip((i, j), kernel, step, around, x.shape[-2:], strict=True)
        ]
        divisor = divisor_override or (whole[0] * whole[1] if count_include_pad else len(rows) * len(columns))
        out[..., i, j] = x[..., rows, :][..., columns].sum((-1, -2)) / divisor
    return out


def adaptive(x, size):
    size = [have if want is None else want for have, want in zip(x.shape[-2:], pair(size), strict=True)]
    out = np.zeros((*x.shape[:-2], *size))
    for i in range(size[0]):
        for j in range(size[1]):
            edges = [
                (place * have // want, -(-(place + 1) * have // want))
                for place, have, want in zip((i, j), x.shape[-2:], size, strict=True)
            ]
            out[..., i, j] = x[..., edges[0][0] : edges[0][1], edges[1][0] : edges[1][1]].mean((-1, -2))
    return out


def largest(name, shape, kernel, dtypes=REAL_FLOATS, **settings):
    return Sample(
        op="max_pool2d",
        name=name,
        inputs=lambda make: (make.distinct(shape), kernel),
        reference=max_pool2d,
        kwargs=settings,
        dtypes=dtypes,
        result=(same, as_int64) if settings.get("return_indices") else same,
        gradient=(0,) if dtypes is REAL_FLOATS and not settings.get("return_indices") else False,
    )


def averaged(name, shape, kernel, **settings):
    return Sample(
        op="avg_pool2d",
        name=name,
        inputs=lambda make: (make(shape), kernel),
        reference=avg_pool2d,
        magnitude=lambda x, *rest, **kwargs: avg_pool2d(np.abs(x), *rest, **kwargs),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        steps=4,
        length=9,
    )


SAMPLES = [
    largest("halves", (1, 2, 4, 6), 2),
    largest("rows left over", (2, 1, 5, 7), 2),
    largest("overlap and padding", (1, 2, 7, 5), 3, stride=2, padding=1),
    largest("stride 1", (1, 1, 5, 6), 3, stride=1, padding=1),
    largest("dilation", (1, 1, 7, 8), 2, stride=1, dilation=(2, 3)),
    largest("rounded up", (1, 1, 6, 7), (2, 3), stride=(3, 3), ceil_mode=True),
    largest("rounded up, padding", (1, 1, 5, 5), 3, stride=2, padding=1, ceil_mode=True),
    largest("one image", (2, 4, 4), 2),
    largest("every real dtype", (1, 2, 5, 6), 3, REAL, stride=2, padding=1),
    largest("indices", (1, 2, 6, 5), 2, return_indices=True),
    largest("indices, overlap, padding", (1, 2, 6, 5), 3, stride=2, padding=1, return_indices=True),
    largest("no images", (0, 2, 4, 4), 2),
    Sample(
        op="_max_pool2d_with_indices",
        inputs=lambda make: (make.distinct((1, 2, 5, 6)), (3, 2), (2, 2), (1, 1), (1, 1), False),
        reference=lambda x, *settings: max_pool2d(x, *settings, return_indices=True),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
        gradient=(0,),
    ),
    Sample(
        op="max_pool2d",
        name="the first of equal maxima",
        inputs=lambda make: (make((1, 3, 6, 6), -1, 1).round(), 2, None, 0, 1, False, True),
        reference=max_pool2d,
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
    ),
    averaged("halves", (1, 2, 4, 6), 2),
    averaged("overlap and padding", (1, 2, 7, 5), 3, stride=2, padding=1),
    averaged("padding does not count", (1, 2, 7, 5), 3, stride=2, padding=1, count_include_pad=False),
    averaged("rounded up", (1, 1, 6, 7), (2, 3), stride=(3, 3), ceil_mode=True),
    averaged("rounded up, padding", (1, 1, 6, 5), 3, stride=2, padding=1, ceil_mode=True),
    averaged("divisor", (1, 1, 5, 6), (3, 2), padding=1, divisor_override=7),
    averaged("one image", (2, 4, 4), 2),
    averaged("no images", (0, 2, 4, 4), 2),
    *(
        Sample(
            op="adaptive_avg_pool2d",
            name=name,
            inputs=lambda make, shape=shape, size=size: (make(shape), size),
            reference=adaptive,
            magnitude=lambda x, size: adaptive(np.abs(x), size),
            dtypes=REAL_FLOATS,
            gradient=(0,),
            steps=6,
            length=9,
            aliasing="maybe",
        )
        for name, shape, size in (
            ("divides", (2, 1, 4, 6), (2, 3)),
            ("does not divide", (1, 2, 5, 7), (3, 2)),
            ("larger than the image", (1, 1, 3, 2), 4),
            ("to one", (2, 3, 3, 4), 1),
            ("keeps a size", (2, 5, 4), (None, 2)),
        )
    ),
]

ERRORS = [
    ErrorCase(
        op="max_pool2d",
        name="window too large",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), 3),
        raises=RuntimeError,
        match=r"max_pool2d: a window of 3 .*height 2.*\n.*input",
    ),
    ErrorCase(
        op="max_pool2d",
        name="padding",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), 2, padding=2),
        raises=RuntimeError,
        match=r"max_pool2d: padding \(2, 2\) is more than half.*\n.*input",
    ),
    ErrorCase(
        op="max_pool2d",
        name="rank",
        call=lambda op, tensor: op(tensor(4, 4), 2),
        raises=RuntimeError,
        match=r"max_pool2d: input has 2 dimensions",
    ),
    ErrorCase(
        op="max_pool2d",
        name="bool",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4, dtype=bool_), 2),
        raises=RuntimeError,
        match=r"max_pool2d: bool has no order",
    ),
    ErrorCase(
        op="max_pool2d",
        name="kernel size",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), "2"),
        raises=TypeError,
        match=r"max_pool2d: kernel_size is '2'",
    ),
    ErrorCase(
        op="avg_pool2d",
        name="integers",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4, dtype=int64), 2),
        raises=RuntimeError,
        match=r"avg_pool2d: .*int64",
    ),
    ErrorCase(
        op="avg_pool2d",
        name="divisor 0",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), 2, divisor_override=0),
        raises=ValueError,
        match=r"avg_pool2d: divisor_override is 0",
    ),
    ErrorCase(
        op="adaptive_avg_pool2d",
        name="negative size",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), -1),
        raises=RuntimeError,
        match=r"adaptive_avg_pool2d: .*\(-1, -1\)",
    ),
    ErrorCase(
        op="adaptive_avg_pool2d",
        name="three sizes",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), (1, 2, 3)),
        raises=TypeError,
        match=r"adaptive_avg_pool2d: output_size is \(1, 2, 3\)",
    ),
]
