"""Parts of complex numbers."""

from __future__ import annotations

import math

import numpy as np

from ..patterns import unary
from ..sample import COMPLEX, NUMBERS, REAL, ErrorCase, Sample, as_float, as_real


def nonzero(make, shape):
    return make.nonzero(shape)


SAMPLES = [
    *unary("real", np.real, dtypes=NUMBERS, result=as_real, gradient=True, second_gradient=False, aliasing="maybe"),
    *unary("imag", np.imag, dtypes=COMPLEX, result=as_real, gradient=True, second_gradient=False),
    *unary(
        "angle",
        lambda x: np.where(x < 0, math.pi, np.where(np.isnan(x), np.nan, 0.0)),
        draw=nonzero,
        dtypes=REAL,
        result=as_float,
        steps=3,
    ),
    Sample(
        op="angle",
        name="complex",
        inputs=lambda make: (make.nonzero((3, 4)),),
        reference=np.angle,
        dtypes=COMPLEX,
        result=as_real,
        gradient=True,
        steps=5,
    ),
]

ERRORS = [
    ErrorCase(
        op="imag", name="real", call=lambda op, tensor: op(tensor(3)), raises=RuntimeError, match=r"imag: .*\n.*input"
    ),
    ErrorCase(
        op="real", name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=r"real: input is list"
    ),
]
