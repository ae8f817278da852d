"""The incomplete gamma functions."""

from __future__ import annotations

import mpmath

from polyad.base.dtypes import bfloat16, complex64, float32, float64, int64

from ...precise import precise
from ...sample import ErrorCase, Sample


def reference(upper):
    def function(a, x):
        if a < 0 or x < 0 or (a == 0 and x == 0) or (mpmath.isinf(a) and mpmath.isinf(x)):
            return mpmath.nan
        if x == 0 or mpmath.isinf(a):
            return 1.0 if upper else 0.0
        if a == 0 or mpmath.isinf(x):
            return 0.0 if upper else 1.0
        limits = (x, mpmath.inf) if upper else (0, x)
        return mpmath.gammainc(a, *limits, regularized=True)

    return precise(function)


lower, upper = reference(False), reference(True)


def both(name, draw, *, dtypes=(float32, float64), steps=20, gradient=False, special=False):
    """A sample of either function; the errors of the larger one are relative to 1."""
    return [
        Sample(
            op=op,
            name=name,
            inputs=draw,
            reference=function,
            dtypes=dtypes,
            steps=steps,
            gradient=gradient,
            special=special,
        )
        for op, function in (("igamma", lower), ("igammac", upper))
    ]


def near(factor, shape=(41,)):
    """a up to *factor*, x beside it."""

    def draw(make):
        a = make.positive(shape, 0.9 * factor, factor)
        return a, (a * make.of(make.dtype)(shape, 0.85, 1.2)).astype(a.dtype)

    return draw


SAMPLES = [
    *both(
        "broadcast",
        lambda make: (make.positive((3, 1), 0.5), make.positive((1, 4), 0.5)),
        dtypes=(bfloat16, float32, float64),
        gradient=(1,),
        special=True,
    ),
    *both("0-d", lambda make: (make.positive(()), make.positive(())), special=True),
    *both("empty", lambda make: (make.positive((0, 3)), make.positive((3,)))),
    *both("small a", lambda make: (make.positive((41,), 1e-3, 1), make.positive((41,), 0.01, 1.4)), steps=100),
    *both("series and fraction", lambda make: (make.positive((41,), 0.5, 15), make.positive((41,), 0.5, 25)), steps=40),
    *both("uniform expansion", near(40), steps=60),
    *both("large a", near(3000), dtypes=(float64,), steps=400),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name=what,
            call=lambda op, tensor, dtype=dtype: op(tensor(3, dtype=dtype), tensor(3, dtype=dtype)),
            raises=NotImplementedError,
            match=rf"{op}: ",
        )
        for op in ("igamma", "igammac")
        for what, dtype in (("integers", int64), ("complex", complex64))
    ],
    *[
        ErrorCase(
            op=op,
            name="shapes that do not broadcast",
            call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
            raises=RuntimeError,
            match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
        )
        for op in ("igamma", "igammac")
    ],
]
