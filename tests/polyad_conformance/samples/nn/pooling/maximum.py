"""Max pooling; the reference visits one window after the other."""

from __future__ import annotations

import itertools
import math

import numpy as np

from polyad.base.dtypes import bool_

from ....sample import REAL, REAL_FLOATS, ErrorCase, Sample, as_int64, same

F = "nn.functional."


def each(value, count):
    """A setting as one number a spatial dimension."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def count_of(size, kernel, stride, padding, dilation, ceil_mode):
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    made = (math.ceil if ceil_mode else math.floor)(free / stride) + 1
    # A window that begins in the padding behind the image is not used.
    return made - 1 if ceil_mode and (made - 1) * stride >= size + padding else made


def visit(x, dims, kernel_size, stride, padding, dilation, ceil_mode):
    """For each window its position, and for each dimension the places of its elements that lie inside the image."""
    stride = kernel_size if stride is None else stride
    axes = []
    for size, kernel, step, amount, spacing in zip(
        x.shape[-dims:],
        *(each(one, dims) for one in (kernel_size, stride, padding, dilation)),
        strict=True,
    ):
        starts = [at * step - amount for at in range(count_of(size, kernel, step, amount, spacing, ceil_mode))]
        axes.append(
            [[start + spacing * tap for tap in range(kernel) if 0 <= start + spacing * tap < size] for start in starts]
        )
    for position in itertools.product(*(range(len(axis)) for axis in axes)):
        yield position, [axis[at] for axis, at in zip(axes, position, strict=True)], tuple(map(len, axes))


def elements(x, places):
    """The elements at all combinations of places, (..., window), and where they lie in the flattened image."""
    dims = len(places)
    grid = np.meshgrid(*places, indexing="ij")
    flat = np.ravel_multi_index([one.ravel() for one in grid], x.shape[-dims:])
    return x.reshape(*x.shape[:-dims], math.prod(x.shape[-dims:]))[..., flat], flat


def max_pool(dims):
    def reference(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        best = indices = None
        for position, places, size in visit(x, dims, kernel_size, stride, padding, dilation, ceil_mode):
            if best is None:
                best, indices = np.zeros((*x.shape[:-dims], *size), x.dtype), np.zeros((*x.shape[:-dims], *size), int)
            window, flat = elements(x, places)
            chosen = window.argmax(-1)
            best[(..., *position)] = np.take_along_axis(window, chosen[..., None], -1)[..., 0]
            indices[(..., *position)] = flat[chosen]
        return (best, indices) if return_indices else best

    return reference


def largest(dims, name, shape, kernel, dtypes=REAL_FLOATS, **settings):
    return Sample(
        op=f"{F}max_pool{dims}d",
        name=name,
        inputs=lambda make: (make.distinct(shape), kernel),
        reference=max_pool(dims),
        kwargs=settings,
        dtypes=dtypes,
        result=(same, as_int64) if settings.get("return_indices") else same,
        gradient=(0,) if dtypes is REAL_FLOATS and not settings.get("return_indices") else False,
    )


def with_indices(dims, shape, *settings):
    """A sample of the function that always gives places."""
    return Sample(
        op=f"{F}max_pool{dims}d_with_indices",
        inputs=lambda make: (make.distinct(shape), *settings),
        reference=lambda *given: max_pool(dims)(*given, return_indices=True),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
    )


SAMPLES = [
    largest(2, "rows left over", (2, 1, 5, 7), 2),
    largest(2, "overlap and padding", (1, 2, 7, 5), 3, stride=2, padding=1),
    largest(2, "stride 1", (1, 1, 5, 6), 3, stride=1, padding=1),
    largest(2, "dilation", (1, 1, 7, 8), 2, stride=1, dilation=(2, 3)),
    largest(2, "rounded up", (1, 1, 6, 7), (2, 3), stride=(3, 3), ceil_mode=True),
    largest(2, "rounded up, padding", (1, 1, 5, 5), 3, stride=2, padding=1, ceil_mode=True),
    largest(2, "one image", (2, 4, 4), 2),
    largest(2, "every real dtype", (1, 2, 5, 6), 3, REAL, stride=2, padding=1),
    largest(2, "indices, overlap, padding", (1, 2, 6, 5), 3, stride=2, padding=1, return_indices=True),
    largest(2, "no images", (0, 2, 4, 4), 2),
    largest(1, "overlap and padding", (2, 2, 7), 3, stride=2, padding=1),
    largest(1, "one sequence, indices", (2, 6), 2, stride=(3,), return_indices=True),
    largest(3, "overlap and padding", (1, 1, 4, 3, 5), (2, 3, 2), stride=(2, 1, 2), padding=(0, 1, 1)),
    largest(
        3,
        "indices, rounded up, dilation",
        (1, 4, 5, 6),
        2,
        stride=2,
        dilation=(2, 1, 2),
        ceil_mode=True,
        return_indices=True,
    ),
    with_indices(1, (2, 2, 7), 3, 2, 1),
    with_indices(2, (1, 2, 6, 5), (3, 2), None, 1, 1, True),
    with_indices(3, (1, 4, 3, 5), 2, 1),
    Sample(
        op="_max_pool_with_indices",
        inputs=lambda make: (make.distinct((1, 2, 5, 6)), (3, 2), (2, 2), (1, 1), (1, 1), False),
        reference=lambda x, *settings: max_pool(2)(x, *settings, return_indices=True),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
        gradient=(0,),
    ),
    Sample(
        op=F + "max_pool2d",
        name="the first of equal maxima",
        inputs=lambda make: (make((1, 3, 6, 6), -1, 1).round(), 2, None, 0, 1, False, True),
        reference=max_pool(2),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
    ),
]

ERRORS = [
    ErrorCase(
        op=F + "max_pool2d",
        name="window too large",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), 3),
        raises=RuntimeError,
        match=r"max_pool2d: a window of 3 .*height 2.*\n.*input",
    ),
    ErrorCase(
        op=F + "max_pool2d",
        name="padding",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), 2, padding=2),
        raises=RuntimeError,
        match=r"max_pool2d: padding \(2, 2\) is more than half.*\n.*input",
    ),
    ErrorCase(
        op=F + "max_pool2d",
        name="rank",
        call=lambda op, tensor: op(tensor(4, 4), 2),
        raises=RuntimeError,
        match=r"max_pool2d: input has 2 dimensions",
    ),
    ErrorCase(
        op=F + "max_pool2d",
        name="bool",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4, dtype=bool_), 2),
        raises=RuntimeError,
        match=r"max_pool2d: bool has no order",
    ),
    ErrorCase(
        op=F + "max_pool2d",
        name="kernel size",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), "2"),
        raises=TypeError,
        match=r"max_pool2d: kernel_size is '2'",
    ),
    ErrorCase(
        op=F + "max_pool1d",
        name="rank",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), 2),
        raises=RuntimeError,
        match=r"max_pool1d: input has 4 dimensions.*\n.*input",
    ),
    ErrorCase(
        op=F + "max_pool3d",
        name="window too deep",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), (2, 1, 1)),
        raises=RuntimeError,
        match=r"max_pool3d: a window of 2 .*depth 1.*\n.*input",
    ),
    *[
        ErrorCase(
            op=f"{F}max_pool{dims}d_with_indices",
            name="window too large",
            call=lambda op, tensor, dims=dims: op(tensor(1, *(2,) * dims), 3),
            raises=RuntimeError,
            match=r"max_pool\dd: a window of 3 .*2.*\n.*input",
        )
        for dims in (1, 2, 3)
    ],
]
