"""Special functions."""

from __future__ import annotations

import math

import numpy as np

from polyad.dtypes import complex64, float32, float64

from ...patterns import unary
from ...sample import REAL, REAL_FLOATS, ErrorCase, Sample, as_float


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def erfc(x):
    return np.vectorize(math.erfc, otypes=[np.float64])(x)


SAMPLES = [
    *unary("erf", erf, dtypes=REAL, result=as_float, gradient=True, steps=6),
    *unary("erfc", erfc, dtypes=REAL, result=as_float, gradient=True, steps=10),
    *[
        Sample(
            op=op,
            name=name,
            inputs=lambda make, low=low, high=high: (make((83,), low, high),),
            reference=reference,
            dtypes=REAL_FLOATS if name != "tails" else (float32, float64),
            steps=steps,
        )
        for op, reference, steps in (("erf", erf, 6), ("erfc", erfc, 20))
        for name, low, high in (("near 0", -1e-2, 1e-2), ("everywhere", -6, 6), ("tails", 4, 9))
    ],
    # More elements than fit into one block of a kernel that works by blocks.
    Sample(
        op="erf",
        name="many",
        inputs=lambda make: (make((3, 7001), -5, 5),),
        reference=erf,
        dtypes=(float32, float64),
        steps=6,
    ),
]

ERRORS = [
    ErrorCase(
        op=name,
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=RuntimeError,
        match=rf"{name}: complex",
    )
    for name in ("erf", "erfc")
]
