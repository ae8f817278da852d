"""Products with a logarithm."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from polyad.base.dtypes import complex64, float32, float64

from ...patterns import binary
from ...precise import few, precise
from ...sample import REAL_FLOATS, ErrorCase, Sample

entr = precise(
    lambda x: -x * mpmath.log(x) if x > 0 else mpmath.ninf, {0.0: 0.0, math.inf: -math.inf, -math.inf: -math.inf}
)


def xlog1py(a, b):
    return np.where((a == 0) & ~np.isnan(b), 0.0, a * np.log1p(b))


def positive(make, shape):
    return make.positive(shape)


SAMPLES = [
    *few(
        "special.entr", entr, draw=positive, gradient=True, steps=8, magnitude=lambda x: np.maximum(1, np.abs(entr(x)))
    ),
    *binary(
        "special.xlog1py",
        xlog1py,
        draw_other=positive,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=6,
    ),
    Sample(
        op="special.xlog1py",
        name="zeros",
        inputs=lambda make: (np.zeros(3, make(()).dtype), np.array([-1.0, 2.0, np.nan]).astype(make(()).dtype)),
        reference=xlog1py,
        dtypes=(float32, float64),
    ),
    Sample(
        op="special.xlog1py",
        name="a number by a tensor",
        inputs=lambda make: (2.0, make.positive((5,))),
        reference=xlog1py,
        dtypes=(float32, float64),
        gradient=True,
        steps=6,
    ),
]

ERRORS = [
    ErrorCase(
        op="special.entr",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=NotImplementedError,
        match=r"entr: complex",
    ),
    ErrorCase(
        op="special.xlog1py",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    ),
]
