"""Max unpooling."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int64

from ....sample import REAL_FLOATS, ErrorCase, Sample
from .maximum import F, each


def unpooled(dims):
    def reference(x, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = each(kernel_size, dims)
        settings = each(kernel if stride is None else stride, dims), each(padding, dims)
        size = output_size or [
            (have - 1) * step - 2 * amount + extent
            for have, extent, step, amount in zip(x.shape[-dims:], kernel, *settings, strict=True)
        ]
        out = np.zeros((*x.shape[:-dims], int(np.prod(size))), x.dtype)
        rows = out.reshape(-1, out.shape[-1])
        for row, values, places in zip(rows, x.reshape(len(rows), -1), indices.reshape(len(rows), -1), strict=True):
            row[places] = values
        return out.reshape(*x.shape[:-dims], *size)

    return reference


def sample(dims, name, shape, area, kernel, **settings):
    def inputs(make):
        planes, count = int(np.prod(shape[:-dims])), int(np.prod(shape[-dims:]))
        places = np.stack([make.random.permutation(area)[:count] for _ in range(planes)])
        return make(shape), places.reshape(shape), kernel

    return Sample(
        op=f"{F}max_unpool{dims}d",
        name=name,
        inputs=inputs,
        reference=unpooled(dims),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=(0,),
    )


SAMPLES = [
    sample(1, "halves", (2, 2, 3), 6, 2),
    sample(2, "halves", (2, 1, 2, 3), 24, 2),
    sample(2, "overlap, padding, size", (1, 3, 2), 5 * 4, 3, stride=2, padding=1, output_size=(5, 4)),
    sample(3, "one volume", (1, 2, 1, 2), 4 * 1 * 6, (2, 1, 3)),
]

ERRORS = [
    ErrorCase(
        op=F + "max_unpool1d",
        name="index out of range",
        call=lambda op, tensor: op(tensor(1, 2), tensor(1, 2, dtype=int64) + 4, 2),
        raises=RuntimeError,
        match=r"max_unpool1d: indices\[0, 0, 0\] = \d is not in \[0, 4\)\n.*input .*\n.*indices",
    ),
    ErrorCase(
        op=F + "max_unpool2d",
        name="indices of floats",
        call=lambda op, tensor: op(tensor(1, 2, 2), tensor(1, 2, 2), 2),
        raises=RuntimeError,
        match=r"max_unpool2d: indices is float32, not int64",
    ),
    ErrorCase(
        op=F + "max_unpool2d",
        name="shapes differ",
        call=lambda op, tensor: op(tensor(1, 2, 2), tensor(1, 2, 3, dtype=int64), 2),
        raises=RuntimeError,
        match=r"max_unpool2d: input and indices must have one shape",
    ),
    ErrorCase(
        op=F + "max_unpool3d",
        name="size",
        call=lambda op, tensor: op(tensor(1, 2, 2, 2), tensor(1, 2, 2, 2, dtype=int64), 2, output_size=(9, 4, 4)),
        raises=ValueError,
        match=r"max_unpool3d: output_size \(9, 4, 4\) must lie less than stride",
    ),
]
