"""Windows: what gradients of views and histories of in-place writes are made of; and as_strided."""

from __future__ import annotations

import numpy as np

from ...sample import FLOATS, ErrorCase, Sample
from ..indexing.slicing import view


def memory(x, strides, reach):
    """A flat array in which *x* lies with *strides*, and the places of its elements."""
    places = sum(
        np.arange(n).reshape(-1, *[1] * (x.ndim - d - 1)) * s for d, (n, s) in enumerate(zip(x.shape, strides))
    )
    flat = np.zeros(reach, x.dtype)
    flat[places] = x
    return flat, places


def places_of(shape, strides, offset):
    return offset + sum(
        np.arange(n).reshape(-1, *[1] * (len(shape) - d - 1)) * s for d, (n, s) in enumerate(zip(shape, strides))
    )


def take(x, base_strides, shape, strides, offset):
    flat, _ = memory(x, base_strides, 64)
    return flat[places_of(shape, strides, offset)]


def put(x, base_shape, base_strides, strides, offset):
    flat, places = memory(np.zeros(base_shape, x.dtype), base_strides, 64)
    np.add.at(flat, places_of(x.shape, strides, offset), x)
    return flat[places]


def clear(x, base_strides, shape, strides, offset):
    flat, places = memory(x, base_strides, 64)
    flat[places_of(shape, strides, offset)] = 0
    return flat[places]


# (base shape, base strides, window shape, window strides, window offset)
WINDOWS = {
    "a row": ((3, 4), (4, 1), (4,), (1,), 4),
    "across dimensions": ((3, 4), (1, 3), (5,), (1,), 2),
    "with gaps": ((3, 4), (8, 2), (2, 2), (8, 4), 2),
    "one element": ((3, 4), (4, 1), (), (), 5),
    "nothing": ((3, 4), (4, 1), (0, 2), (4, 1), 0),
}

OVERLAPPING = {
    "repeated": ((3, 4), (4, 1), (2, 4), (0, 1), 4),
    "sliding": ((3, 4), (4, 1), (3, 2), (1, 1), 1),
}


def window(op, name, shapes, reference):
    base, base_strides, shape, strides, offset = shapes
    rest = {
        "_window_take": (base_strides, shape, strides, offset),
        "_window_put": (base, base_strides, strides, offset),
        "_window_clear": (base_strides, shape, strides, offset),
    }[op]
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape if op == "_window_put" else base), *rest),
        reference=reference,
        dtypes=FLOATS,
        gradient=True,
        length=4,
    )


SAMPLES = [
    *[window("_window_take", name, shapes, take) for name, shapes in (WINDOWS | OVERLAPPING).items()],
    *[window("_window_put", name, shapes, put) for name, shapes in (WINDOWS | OVERLAPPING).items()],
    *[window("_window_clear", name, shapes, clear) for name, shapes in (WINDOWS | OVERLAPPING).items()],
    # The one element that every layout has in one place: what lies beside it depends on the layout.
    view(
        "as_strided",
        "the first element, repeated",
        (3, 4),
        (2, 3),
        (0, 0),
        reference=lambda x, size, stride: np.full(size, x[0, 0]),
    ),
]

ERRORS = [
    ErrorCase(
        op="as_strided",
        name="outside of the storage",
        call=lambda op, tensor: op(tensor(2, 3), (2, 3), (3, 2)),
        raises=RuntimeError,
        match=r"as_strided: .* reach element 7 of a storage of 6\n.*input",
    ),
]
