"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, float32, float64

from ...patterns import binary, unary
from ...sample import NUMBERS, REAL, REAL_FLOATS, ErrorCase, Sample, as_float


def inside(make, shape):
    """Magnitudes below 0.9, where the inverse functions are defined and not steep; 0 for integers."""
    return (
        make(shape, -0.9, 0.9)
        if make.dtype not in REAL
        else make(shape, -0.9, 0.9)
        if make.dtype in REAL_FLOATS
        else make(shape, 0, 0)
    )


def gentle(make, shape):
    """Magnitudes below 1.2, away from the poles of the tangent."""
    return make(shape, -1.2, 1.2)


def above_one(make, shape):
    return make.positive(shape, 1.25, 3.0)


def away_from_zero(make, shape):
    return make.nonzero(shape)


def beside_one(reference):
    """Near a zero that is not at 0 an error is relative to 1, not to the value."""
    return lambda x: np.maximum(1, np.abs(reference(x)))


def circular(name, reference, **sample):
    return unary(
        name,
        reference,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=5,
        magnitude=beside_one(reference),
        **sample,
    )


def sinc(x):
    x = x.astype(np.result_type(x, np.float64))
    return np.where(x == 0, 1, np.sin(np.pi * x) / (np.pi * np.where(x == 0, 1, x)))


SAMPLES = [
    *unary(
        "sinc",
        sinc,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=12,
        magnitude=lambda x: np.maximum(0.5, np.abs(sinc(x))),
    ),
    Sample(
        op="sinc",
        name="around 0",
        inputs=lambda make: (np.array([0.0, 1e-6, -1e-3, 0.2, 0.24999, 0.25, -0.26, 0.3]),),
        reference=sinc,
        dtypes=(float64,),
        gradient=True,
        steps=8,
    ),
    *circular("sin", np.sin),
    *circular("cos", np.cos),
    *[
        Sample(
            op=op,
            name="of large numbers",
            inputs=lambda make: ((10.0 ** make.random.uniform(2, 5, (3, 7))).astype(make(()).dtype),),
            reference=reference,
            magnitude=np.ones_like,
            dtypes=(float32, float64),
            steps=4,
        )
        for op, reference in (("sin", np.sin), ("cos", np.cos))
    ],
    *unary(
        "tan",
        np.tan,
        draw=gentle,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=10,
        magnitude=beside_one(np.tan),
    ),
    *unary("asin", np.arcsin, draw=inside, dtypes=NUMBERS, result=as_float, gradient=True, steps=10),
    *unary("acos", np.arccos, draw=inside, dtypes=NUMBERS, result=as_float, gradient=True, steps=10),
    *unary("atan", np.arctan, draw=inside, dtypes=NUMBERS, result=as_float, gradient=True, steps=5),
    *unary("sinh", np.sinh, dtypes=NUMBERS, result=as_float, gradient=True, steps=5, magnitude=beside_one(np.sinh)),
    *unary("cosh", np.cosh, dtypes=NUMBERS, result=as_float, gradient=True, steps=5, magnitude=beside_one(np.cosh)),
    *unary("tanh", np.tanh, draw=gentle, dtypes=NUMBERS, result=as_float, gradient=True, steps=6),
    *unary(
        "asinh", np.arcsinh, dtypes=NUMBERS, result=as_float, gradient=True, steps=8, magnitude=beside_one(np.arcsinh)
    ),
    *unary(
        "acosh",
        np.arccosh,
        draw=above_one,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=12,
        magnitude=beside_one(np.arccosh),
    ),
    *unary("atanh", np.arctanh, draw=inside, dtypes=NUMBERS, result=as_float, gradient=True, steps=10),
    *binary(
        "atan2", np.arctan2, draw=away_from_zero, dtypes=REAL, result=as_float, gradient=True, steps=6, number=None
    ),
    *unary("deg2rad", np.deg2rad, dtypes=REAL, result=as_float, gradient=True, second_gradient=False, steps=3),
    *unary("rad2deg", np.rad2deg, dtypes=REAL, result=as_float, gradient=True, second_gradient=False, steps=3),
]

ERRORS = [
    ErrorCase(
        op="sinc", name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=r"sinc: input is list"
    ),
    ErrorCase(
        op="sin", name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=r"sin: input is list"
    ),
    ErrorCase(
        op="atan2",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    ),
    ErrorCase(
        op="atan2",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64), tensor(3)),
        raises=RuntimeError,
        match=r"atan2: complex",
    ),
    ErrorCase(
        op="atan2",
        name="a number",
        call=lambda op, tensor: op(tensor(3), 1.0),
        raises=TypeError,
        match=r"atan2: other is float",
    ),
]
