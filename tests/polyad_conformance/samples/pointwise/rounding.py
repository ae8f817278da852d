"""Rounding to whole numbers."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex64, float32, float64, int64

from ...patterns import unary
from ...sample import INTEGERS, REAL, REAL_FLOATS, ErrorCase, Sample


def between(make, shape):
    """Numbers at least 0.125 away from whole numbers and their halves, so that rounding decides nothing."""
    if make.dtype in INTEGERS:
        return make(shape)
    values = make.random.integers(-8, 8, shape) + make.random.choice([0.125, 0.3125, 0.6875, 0.875], shape)
    return np.asarray(values).astype(make(()).dtype)


def uneven(make, shape):
    """Numbers whose tenths and hundredths are far from halves, too."""
    values = make.random.integers(-8, 8, shape) + make.random.choice([0.12371, 0.37619, 0.61783], shape)
    return np.asarray(values).astype(make(()).dtype)


def halves(make):
    values = np.array([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5])
    return (values.astype(make(()).dtype),)


def nearest_even(x):
    if x.dtype.kind == "i":
        return x
    whole = np.floor(x)
    rest = x - whole
    near = np.where(rest > 0.5, whole + 1, np.where(rest < 0.5, whole, whole + whole % 2))
    return np.copysign(near, x)  # what a negative number becomes 0 from is -0


def to_decimals(x, decimals):
    return nearest_even(x * 10.0**decimals) / 10.0**decimals


def fraction(x):
    return np.where(np.isinf(x), np.nan, x - np.trunc(x))


WHOLE = {"draw": between, "dtypes": REAL, "gradient": True, "second_gradient": False}

SAMPLES = [
    *unary("floor", np.floor, **WHOLE),
    *unary("ceil", np.ceil, **WHOLE),
    *unary("trunc", np.trunc, **WHOLE),
    *unary("round", lambda x: np.where(np.isfinite(x), nearest_even(x), x), **WHOLE),
    Sample(op="round", name="halves", inputs=halves, reference=nearest_even, dtypes=REAL_FLOATS),
    *[
        Sample(
            op="round",
            name=f"{decimals} decimals",
            inputs=lambda make: (uneven(make, (3, 4)),),
            kwargs={"decimals": decimals},
            reference=to_decimals,
            magnitude=lambda x, decimals: np.abs(x),
            dtypes=(float32, float64),
            gradient=True,
            second_gradient=False,
            steps=3,
        )
        for decimals in (1, 2)
    ],
    Sample(
        op="round",
        name="to tens",
        inputs=lambda make: (make.distinct((3, 4)) * 16 + 1,),
        kwargs={"decimals": -1},
        reference=to_decimals,
        dtypes=(float32, float64),
    ),
    *unary("frac", fraction, draw=between, dtypes=REAL_FLOATS, gradient=True, second_gradient=False),
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name=dtype.name,
            call=lambda op, tensor, dtype=dtype: op(tensor(3, dtype=dtype)),
            raises=RuntimeError,
            match=rf"{name}: {what}",
        )
        for name in ("floor", "ceil", "trunc", "round")
        for dtype, what in ((bool_, "bool"), (complex64, "complex"))
    ],
    ErrorCase(
        op="round",
        name="decimals of integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), decimals=1),
        raises=RuntimeError,
        match=r"round: .*\n.*input .*int64",
    ),
    ErrorCase(
        op="round",
        name="decimals",
        call=lambda op, tensor: op(tensor(3), decimals=1.5),
        raises=TypeError,
        match=r"round: decimals is float, not an int",
    ),
    ErrorCase(
        op="frac",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"frac: .*int64",
    ),
]
