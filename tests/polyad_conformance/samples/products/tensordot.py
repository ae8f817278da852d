"""tensordot."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int64

from ...sample import ErrorCase, Sample

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)


def contracted(name, left, right, dims, dtypes=DIFFERENTIABLE):
    return Sample(
        op="tensordot",
        name=name,
        inputs=lambda make: (make(left), make(right)),
        kwargs={"dims": dims},
        reference=lambda a, b, dims: np.tensordot(a, b, dims),
        magnitude=lambda a, b, dims: np.tensordot(np.abs(a), np.abs(b), dims),
        dtypes=dtypes,
        gradient=True,
        length=12,
    )


SAMPLES = [
    contracted("two dims", (2, 3, 4), (3, 4, 2), 2, FEW),
    contracted("none", (2, 3), (2,), 0),
    contracted("all", (2, 3), (2, 3), 2),
    contracted("lists", (2, 3, 4), (4, 5, 2), ([0, 2], [2, 0])),
    contracted("negative dims", (2, 3), (5, 3), ([-1], [-1])),
    contracted("of nothing", (2, 0), (0, 3), 1),
]

ERRORS = [
    ErrorCase(
        op="tensordot",
        name="sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=([0], [0])),
        raises=RuntimeError,
        match=r"tensordot: .*2 != 3\n.*a .*\n.*b",
    ),
    ErrorCase(
        op="tensordot",
        name="too many dims",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=3),
        raises=RuntimeError,
        match=r"tensordot: dims is 3",
    ),
    ErrorCase(
        op="tensordot",
        name="lists of different lengths",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=([1], [0, 1])),
        raises=RuntimeError,
        match=r"tensordot: dims names 1 dimensions of a and 2 of b",
    ),
    ErrorCase(
        op="tensordot",
        name="a dim out of range",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=([2], [0])),
        raises=IndexError,
        match=r"tensordot: dim 2 is out of range",
    ),
]
