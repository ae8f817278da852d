"""Patches cut out and added up; the references visit one patch after the other."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, FLOATS, ErrorCase, Sample

F = "nn.functional."


def pair(value):
    return (value, value) if isinstance(value, int) else value


def patches(size, kernel_size, dilation, padding, stride):
    """For each patch the places (row, column) of its elements in the padded image, as an index of two arrays."""
    kernel, dilation, padding, stride = map(pair, (kernel_size, dilation, padding, stride))
    counts = [
        (have + 2 * p - d * (k - 1) - 1) // s + 1
        for have, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    for position in np.ndindex(*counts):
        yield np.ix_(
            *[at * s + d * np.arange(k) for at, k, d, s in zip(position, kernel, dilation, stride, strict=True)]
        )


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    if x.ndim == 3:
        return unfold(x[None], kernel_size, dilation, padding, stride)[0]
    around = [(amount, amount) for amount in pair(padding)]
    padded = np.pad(x, [(0, 0), (0, 0), *around])
    found = [
        padded[(slice(None), slice(None), *places)].reshape(len(x), -1)
        for places in patches(x.shape[2:], kernel_size, dilation, padding, stride)
    ]
    return np.stack(found, -1)


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    if x.ndim == 2:
        return fold(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    size, (down, across), kernel = pair(output_size), pair(padding), pair(kernel_size)
    channels = x.shape[1] // (kernel[0] * kernel[1])
    out = np.zeros((len(x), channels, size[0] + 2 * down, size[1] + 2 * across), x.dtype)
    for number, places in enumerate(patches(size, kernel_size, dilation, padding, stride)):
        out[(slice(None), slice(None), *places)] += x[..., number].reshape(len(x), channels, *kernel)
    return out[:, :, down : down + size[0], across : across + size[1]]


def moved(op, name, shape, *settings, reference, dtypes=FLOATS, **more):
    return Sample(
        op=F + op,
        name=name,
        inputs=lambda make: (make(shape), *settings),
        reference=reference,
        dtypes=dtypes,
        gradient=(0,) if dtypes is FLOATS else False,
        **more,
    )


def refused(op, name, raises, match, *shape, **settings):
    return ErrorCase(
        op=F + op, name=name, call=lambda op, tensor: op(tensor(*shape), **settings), raises=raises, match=match
    )


SAMPLES = [
    moved("unfold", "plain", (2, 2, 4, 5), (2, 3), reference=unfold),
    moved("unfold", "settings", (1, 2, 5, 4), (2, 3), (2, 1), (1, 2), (1, 2), reference=unfold),
    moved("unfold", "every dtype, one image", (2, 3, 4), 2, reference=unfold, dtypes=EVERYTHING),
    moved("fold", "plain", (2, 8, 6), (3, 4), 2, reference=fold, length=4),
    moved("fold", "settings, one image", (12, 15), (5, 4), (2, 3), (2, 1), (1, 2), (1, 2), reference=fold, length=6),
]

ERRORS = [
    refused("unfold", "rank", RuntimeError, r"unfold: input is \(4, 4\)", 4, 4, kernel_size=2),
    refused("unfold", "kernel too large", RuntimeError, r"unfold: no window .*\n.*input", 1, 2, 2, kernel_size=3),
    refused("unfold", "kernel of a float", TypeError, r"unfold: kernel_size is 2\.0", 1, 2, 2, kernel_size=2.0),
    refused("fold", "rows", RuntimeError, r"fold: input has 6 rows.*\n.*input", 6, 4, output_size=3, kernel_size=2),
    refused(
        "fold", "columns", RuntimeError, r"fold: input has 5 columns.*4\n.*input", 4, 5, output_size=3, kernel_size=2
    ),
]
