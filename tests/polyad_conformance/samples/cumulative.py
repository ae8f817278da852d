"""Running sums and products."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import float64

from ..sample import BOOL, EVERYTHING, FLOATS, INTEGERS, REAL_FLOATS, ErrorCase, Sample, as_sum


def running(function):
    def reference(x, dim, dtype=None):
        if not x.ndim:
            return x
        return function(x, axis=dim, dtype=np.int64 if x.dtype.kind in "bi" else None)

    return reference


def magnitude(x, dim):
    return np.cumsum(np.abs(x), axis=dim) if x.ndim else np.abs(x)


SHAPES = {
    "last": ((3, 5), -1),
    "first": ((5, 3), 0),
    "middle": ((2, 4, 3), 1),
    "0-d": ((), 0),
    "empty": ((0, 3), 0),
    "long": ((2, 65), 1),
}

SAMPLES = [
    *[
        Sample(
            op="cumsum",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"dim": dim},
            reference=running(np.cumsum),
            dtypes=EVERYTHING,
            result=as_sum,
            gradient=True,
            length=max(shape, default=1),
            magnitude=magnitude,
            special=True,
        )
        for name, (shape, dim) in SHAPES.items()
    ],
    Sample(
        op="cumsum",
        name="in another dtype",
        inputs=lambda make: (make((3, 5)),),
        kwargs={"dim": 1, "dtype": float64},
        reference=lambda x, dim, dtype: np.cumsum(x, axis=dim, dtype=np.float64),
        dtypes=BOOL + INTEGERS,
        result=lambda _: float64,
    ),
    *[
        Sample(
            op="cumprod",
            name=name,
            inputs=lambda make, shape=shape: (make.nonzero(shape, 0.8, 1.2),),
            kwargs={"dim": dim},
            reference=running(np.cumprod),
            dtypes=FLOATS + BOOL,
            result=as_sum,
            gradient=True,
            steps=12,
            length=max(shape, default=1),
        )
        for name, (shape, dim) in SHAPES.items()
        if name != "long"
    ],
    Sample(
        op="cumprod",
        name="zeros among the factors",
        inputs=lambda make: (np.array([[1.5, 0, 2, -1], [0, 3, 0, 2], [1, 2, -1.25, 0]]).astype(make(()).dtype),),
        kwargs={"dim": 1},
        reference=running(np.cumprod),
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=8,
    ),
]

ERRORS = [
    ErrorCase(
        op=op,
        name="dim out of range",
        call=lambda op, tensor: op(tensor(2, 3), 2),
        raises=IndexError,
        match=rf"{op}: dim 2 is out of range \[-2, 1\]",
    )
    for op in ("cumsum", "cumprod")
]
