"""The zeta function of Hurwitz."""

from __future__ import annotations

import mpmath
import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float32, float64, int64

from ...precise import precise
from ...sample import REAL_FLOATS, ErrorCase, Sample, as_float


def hurwitz(s, q):
    if s == 1:
        return mpmath.inf
    if s < 1 or q == -mpmath.inf:
        return mpmath.nan
    if q <= 0 and q == mpmath.floor(q):
        return mpmath.inf
    if q < 0 and s != mpmath.floor(s):
        return mpmath.nan
    if mpmath.isinf(q):
        return 0
    if mpmath.isinf(s):
        return mpmath.inf if q < 1 else 1 if q == 1 else 0
    first = [(q + k) ** -s for k in range(int(max(0, mpmath.ceil(-q))))]
    return mpmath.fsum(first) + mpmath.zeta(s, q + len(first))


zeta = precise(hurwitz)


def exponent(make, shape):
    """Between 1.5 and 6."""
    return make(shape, 1.5, 6) if make.dtype in REAL_FLOATS else make(shape, 2, 6)


SAMPLES = [
    Sample(
        op="special.zeta",
        name="broadcast",
        inputs=lambda make: (exponent(make, (3, 1)), make.positive((4,), 0.5)),
        reference=zeta,
        dtypes=(int64, bfloat16, float32, float64),
        result=as_float,
        gradient=(1,),
        special=True,
        steps=10,
    ),
    *[
        Sample(
            op="special.zeta",
            name=name,
            inputs=inputs,
            reference=zeta,
            dtypes=(float32, float64),
            steps=steps,
        )
        for name, inputs, steps in (
            ("0-d", lambda make: (exponent(make, ()), make.positive(())), 10),
            ("empty", lambda make: (exponent(make, (0, 3)), make.positive((3,))), 10),
            ("a number first", lambda make: (3.5, make.positive((5,))), 10),
            ("a number second", lambda make: (exponent(make, (5,)), 2), 10),
            ("large exponents", lambda make: (make((31,), 10, 40), make.positive((31,), 0.5, 5)), 80),
            (
                "negative",
                lambda make: (np.floor(make((31,), 2, 7)).astype(make(()).dtype), make((31,), -2.9, -2.1)),
                20,
            ),
        )
    ],
]

ERRORS = [
    ErrorCase(
        op="special.zeta",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64), 2.0),
        raises=NotImplementedError,
        match=r"zeta: complex",
    ),
    ErrorCase(
        op="special.zeta",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    ),
]
