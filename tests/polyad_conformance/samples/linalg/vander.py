"""Vandermonde matrices."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int8

from ...sample import BOOL, ErrorCase, Sample, as_sum

SAMPLES = [
    *[
        Sample(
            op="vander",
            name=name,
            inputs=lambda make, size=size: (make((size,)),),
            kwargs=kwargs,
            reference=lambda x, N=None, increasing=False: np.vander(x + 0, N, increasing),
            dtypes=(int8, float16, float32, complex128, float64),
            result=as_sum,
            gradient=kwargs.get("N", 2) > 1,
            steps=6,
        )
        for name, size, kwargs in (
            ("square", 4, {}),
            ("increasing", 3, {"N": 5, "increasing": True}),
            ("ones", 3, {"N": 1}),
            ("no powers", 3, {"N": 0}),
        )
    ],
    Sample(
        op="vander",
        name="bool",
        inputs=lambda make: (make((3,)),),
        reference=lambda x: np.vander(x.astype(np.int64)),
        dtypes=BOOL,
        result=as_sum,
    ),
]

ERRORS = [
    ErrorCase(
        op="vander",
        name="fewer than none",
        call=lambda op, tensor: op(tensor(3), -1),
        raises=RuntimeError,
        match=r"vander: N is -1.*\n.*x",
    ),
]
