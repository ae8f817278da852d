"""Traces."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int64

from ...sample import ErrorCase, Sample, as_sum

FEW = (int64, float16, float32, float64, complex128)

SAMPLES = [
    *[
        Sample(
            op="trace",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            reference=np.trace,
            dtypes=FEW,
            result=as_sum,
            gradient=True,
            length=4,
        )
        for name, shape in (("square", (4, 4)), ("wide", (2, 5)), ("empty", (0, 3)))
    ],
]

ERRORS = [
    ErrorCase(
        op="trace",
        name="a vector",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"trace: input has 1 dimensions.*\n.*input",
    ),
]
