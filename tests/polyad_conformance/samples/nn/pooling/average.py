"""Average and power-mean pooling; the reference visits one window after the other."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int32, int64

from ....sample import REAL_FLOATS, ErrorCase, Sample
from .maximum import F, each, elements, visit


def avg_pool(dims):
    def reference(
        x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        out = None
        kernel, step = each(kernel_size, dims), each(kernel_size if stride is None else stride, dims)
        for position, places, size in visit(x, dims, kernel, step, padding, 1, ceil_mode):
            if out is None:
                out = np.zeros((*x.shape[:-dims], *size), x.dtype)
            # How much of the window lies inside the padded image: a rounded-up size lets the last one reach beyond.
            whole = [
                min(at * s - p + k, n + p) - (at * s - p)
                for at, k, s, p, n in zip(position, kernel, step, each(padding, dims), x.shape[-dims:], strict=True)
            ]
            window, flat = elements(x, places)
            divisor = divisor_override or (np.prod(whole) if count_include_pad else len(flat))
            mean = window.sum(-1) / divisor
            out[(..., *position)] = np.trunc(mean) if x.dtype.kind == "i" else mean
        return out

    return reference


def lp_pool(dims):
    def reference(x, norm_type, kernel_size, stride=None, ceil_mode=False):
        kernel = np.prod(each(kernel_size, dims))
        return (avg_pool(dims)(x**norm_type, kernel_size, stride, 0, ceil_mode) * kernel) ** (1 / norm_type)

    return reference


def magnitude_of(reference):
    return lambda x, *rest, **kwargs: reference(np.abs(x), *rest, **kwargs)


def averaged(dims, name, shape, kernel, dtypes=REAL_FLOATS, **settings):
    return Sample(
        op=f"{F}avg_pool{dims}d",
        name=name,
        inputs=lambda make: (make(shape) if dtypes is REAL_FLOATS else make(shape, -9, 9), kernel),
        reference=avg_pool(dims),
        magnitude=magnitude_of(avg_pool(dims)),
        kwargs=settings,
        dtypes=dtypes,
        gradient=(0,) if dtypes is REAL_FLOATS else False,
        steps=4,
        length=9,
    )


def powers(dims, name, shape, norm, kernel, **settings):
    return Sample(
        op=f"{F}lp_pool{dims}d",
        name=name,
        inputs=lambda make: (make.positive(shape, 0.5, 2.0), norm, kernel),
        reference=lp_pool(dims),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        # Two powers, whose exponents multiply the relative error.
        steps=16,
        length=9,
    )


SAMPLES = [
    averaged(2, "halves", (1, 2, 4, 6), 2),
    averaged(2, "overlap and padding", (1, 2, 7, 5), 3, stride=2, padding=1),
    averaged(2, "padding does not count", (1, 2, 7, 5), 3, stride=2, padding=1, count_include_pad=False),
    averaged(2, "rounded up", (1, 1, 6, 7), (2, 3), stride=(3, 3), ceil_mode=True),
    averaged(2, "rounded up, padding", (1, 1, 6, 5), 3, stride=2, padding=1, ceil_mode=True),
    averaged(2, "divisor", (1, 1, 5, 6), (3, 2), padding=1, divisor_override=7),
    averaged(2, "one image", (2, 4, 4), 2),
    averaged(2, "no images", (0, 2, 4, 4), 2),
    averaged(2, "integers, towards zero", (1, 3, 6, 6), 2, (int64,)),
    averaged(1, "overlap and padding", (2, 2, 7), 3, stride=2, padding=1),
    averaged(1, "one sequence, rounded up", (2, 8), 3, ceil_mode=True, count_include_pad=False),
    averaged(3, "overlap and padding", (1, 1, 4, 3, 5), (2, 3, 2), stride=(2, 1, 2), padding=(0, 1, 1)),
    averaged(3, "divisor, rounded up", (2, 3, 3, 4), 2, ceil_mode=True, divisor_override=3),
    powers(1, "cubes", (2, 1, 6), 3, 2),
    powers(2, "squares, overlap", (1, 2, 5, 4), 2.0, 3, stride=1),
    powers(2, "rounded up", (1, 5, 5), 2.5, 2, ceil_mode=True),
    powers(3, "squares", (1, 1, 2, 4, 2), 2, 2),
]

ERRORS = [
    ErrorCase(
        op=F + "avg_pool2d",
        name="integers",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4, dtype=int32), 2),
        raises=RuntimeError,
        match=r"avg_pool2d: .*int32.*\n.*input",
    ),
    ErrorCase(
        op=F + "avg_pool2d",
        name="divisor 0",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), 2, divisor_override=0),
        raises=RuntimeError,
        match=r"avg_pool2d: divisor_override is 0",
    ),
    ErrorCase(
        op=F + "avg_pool1d",
        name="window too large",
        call=lambda op, tensor: op(tensor(1, 2), 3),
        raises=RuntimeError,
        match=r"avg_pool1d: a window of 3 .*length 2.*\n.*input",
    ),
    ErrorCase(
        op=F + "avg_pool3d",
        name="rank",
        call=lambda op, tensor: op(tensor(4, 4, 4), 2),
        raises=RuntimeError,
        match=r"avg_pool3d: input has 3 dimensions",
    ),
    *(
        ErrorCase(
            op=f"{F}lp_pool{dims}d",
            name="norm",
            call=lambda op, tensor, dims=dims: op(tensor(1, *[4] * dims), 0, 2),
            raises=ZeroDivisionError,
            match=rf"lp_pool{dims}d: norm_type is 0.*\n.*input",
        )
        for dims in (1, 2, 3)
    ),
]
