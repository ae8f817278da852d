"""The error function, the normal distribution's functions, and their inverses."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from polyad.base.dtypes import complex64, float32, float64

from ...patterns import unary
from ...precise import few, precise, spans
from ...sample import REAL, REAL_FLOATS, ErrorCase, Sample, as_float


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def erfc(x):
    return np.vectorize(math.erfc, otypes=[np.float64])(x)


erfcx = precise(lambda x: mpmath.exp(x * x) * mpmath.erfc(x), {math.inf: 0.0, -math.inf: math.inf})
ndtr = precise(lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
log_ndtr = precise(lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2), {-math.inf: -math.inf})
erfinv = precise(lambda x: mpmath.erfinv(x) if abs(x) < 1 else mpmath.nan, {1.0: math.inf, -1.0: -math.inf})


def probit(p):
    with mpmath.workdps(80):  # 2 p - 1 is near -1
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1) if 0 < p < 1 else mpmath.nan


ndtri = precise(probit, {1.0: math.inf, 0.0: -math.inf})


def inside(make, shape):
    """Between -0.95 and 0.95."""
    return make(shape, -0.95, 0.95)


def probability(make, shape):
    """Between 0.02 and 0.98; integers are 0 or 1."""
    return make(shape, 0.02, 0.98) if make.dtype in REAL_FLOATS else make(shape, 0, 1)


SAMPLES = [
    *unary("erf", erf, dtypes=REAL, result=as_float, gradient=True, steps=6),
    *unary("erfc", erfc, dtypes=REAL, result=as_float, gradient=True, steps=10),
    *spans("erf", erf, 6, near_0=(-1e-2, 1e-2), everywhere=(-6, 6)),
    *spans("erfc", erfc, 10, near_0=(-1e-2, 1e-2), everywhere=(-6, 6), tails=(4, 9)),
    # More elements than fit into one block of a kernel that works by blocks.
    Sample(
        op="erf",
        name="many",
        inputs=lambda make: (make((3, 7001), -5, 5),),
        reference=erf,
        dtypes=(float32, float64),
        steps=6,
    ),
    *few("special.erfcx", erfcx, gradient=True, steps=8),
    *spans("special.erfcx", erfcx, 8, far_out=(5, 300), near_0=(-0.1, 0.1)),
    *few("erfinv", erfinv, draw=inside, dtypes=REAL_FLOATS, gradient=True, steps=8),
    *spans("erfinv", erfinv, 8, near_0=(-1e-3, 1e-3)),
    Sample(
        op="erfinv",
        name="near 1",
        inputs=lambda make: ((1 - 2.0 ** -np.arange(1, 23)).astype(make(()).dtype),),
        reference=erfinv,
        dtypes=(float32, float64),
        steps=8,
    ),
    *few("special.ndtr", ndtr, gradient=True, steps=8),
    *spans("special.ndtr", ndtr, 80, tail=(-9, -5)),
    *few("special.log_ndtr", log_ndtr, gradient=True, steps=10),
    *spans("special.log_ndtr", log_ndtr, 8, far_out=(-300, -30)),
    *few("special.ndtri", ndtri, draw=probability, gradient=True, steps=10),
    *spans("special.ndtri", ndtri, 8, small=(1e-30, 1e-20)),
]

ERRORS = [
    ErrorCase(
        op=name,
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=NotImplementedError,
        match=rf"{name.rpartition('.')[2]}: complex",
    )
    for name in ("erf", "erfc", "special.erfcx", "erfinv", "special.ndtr", "special.log_ndtr", "special.ndtri")
]
