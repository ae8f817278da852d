"""Powers and roots."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex128, float32, float64, int64, uint8

from ...patterns import binary, unary
from ...sample import COMPLEX, EVERYTHING, FLOATS, INTEGERS, NUMBERS, REAL_FLOATS, ErrorCase, Sample, always, as_float


def base(make, shape):
    return make.positive(shape, 0.5, 2.0)


def exponent(make, shape):
    return make(shape, 0, 3) if make.dtype in INTEGERS else make(shape)


def power_sizes(a, b):
    """The error of a power grows with its exponent's logarithm: x**y = exp(y * log(x))."""
    return np.abs(np.power(a, b)) * (1 + np.abs(b * np.log(np.where(a == 0, 1, a))))


def integer_power(a, b):
    """Negative powers are rounded towards zero; 0 to a negative power is 0."""
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0)))


def away_from_zero(make, shape):
    return make.nonzero(shape, 0.5, 2.0)


def with_zero_for_bool(x):
    return (x * x) if x.dtype != bool else x.astype(np.int64)


SAMPLES = [
    *binary(
        "hypot",
        lambda a, b: np.where(np.isinf(a) | np.isinf(b), np.inf, np.sqrt(a * a + b * b)),
        draw=lambda make, shape: make.nonzero(shape),
        dtypes=REAL_FLOATS,
        gradient=True,
        number=None,
        steps=4,
    ),
    Sample(
        op="hypot",
        name="out of the range of squares",
        inputs=lambda make: (np.array([3e200, 3e-200, 1e-320, 0.0]), np.array([4e200, 4e-200, 0.0, 0.0])),
        reference=lambda a, b: np.where(b == 0, a, b * np.sqrt(1 + (a / np.where(b == 0, 1, b)) ** 2)),
        dtypes=(float64,),
        steps=3,
    ),
    *binary(
        "pow",
        np.power,
        draw=base,
        draw_other=exponent,
        dtypes=REAL_FLOATS,
        gradient=True,
        magnitude=power_sizes,
        steps=6,
    ),
    Sample(
        op="pow",
        name="integers",
        inputs=lambda make: (make((3, 4), -3, 3), exponent(make, (4,))),
        reference=integer_power,
        dtypes=INTEGERS,
    ),
    Sample(
        op="pow",
        name="integers to negative integers",
        inputs=lambda make: (
            np.array([1, -1, -1, 2, -3], make(()).dtype),
            np.array([-3, -3, -2, -1, -2], make(()).dtype),
        ),
        reference=integer_power,
        dtypes=tuple(dtype for dtype in INTEGERS if dtype is not uint8),
    ),
    *[
        Sample(
            op="pow",
            name=f"to the {number}",
            inputs=lambda make, number=number: (base(make, (3, 4)), number),
            reference=lambda x, number: np.power(x, number),
            dtypes=FLOATS if number != 2.5 else REAL_FLOATS,
            gradient=True,
            second_gradient=number != 0,
            steps=12,
        )
        for number in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5, 4)
    ],
    *[
        Sample(
            op="pow",
            name=f"special values to the {number}",
            inputs=lambda make, number=number: (make((3, 4)), number),
            reference=lambda x, number: np.sqrt(x) if number == 0.5 else np.power(x, number),
            dtypes=(float32, float64),
            special=True,
            steps=4,
        )
        for number in (0, 2, 3, 0.5)
    ],
    Sample(
        op="pow",
        name="a number to a tensor",
        inputs=lambda make: (2.0, make((3, 4))),
        reference=np.power,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=8,
    ),
    Sample(
        op="pow", name="2 to integers", inputs=lambda make: (2, make((5,), 0, 6)), reference=np.power, dtypes=INTEGERS
    ),
    Sample(
        op="pow",
        name="complex",
        inputs=lambda make: (make.nonzero((3,)), make((3,))),
        reference=np.power,
        dtypes=COMPLEX,
        gradient=True,
        magnitude=power_sizes,
        steps=8,
    ),
    Sample(
        op="float_power",
        inputs=lambda make: (make.positive((5,), 1, 3), 1.5),
        reference=np.power,
        dtypes=EVERYTHING[1:-2],
        result=always(float64),
        steps=4,
    ),
    Sample(
        op="float_power",
        name="complex",
        inputs=lambda make: (make.nonzero((5,)), 2),
        reference=np.power,
        dtypes=COMPLEX,
        result=always(complex128),
        steps=6,
    ),
    *unary("square", np.square, dtypes=NUMBERS, gradient=True, steps=3),
    Sample(
        op="square",
        name="bool",
        inputs=lambda make: (make((9,)),),
        reference=with_zero_for_bool,
        dtypes=(bool_,),
        result=always(int64),
    ),
    *unary("sqrt", np.sqrt, draw=base, dtypes=NUMBERS, result=as_float, gradient=True, steps=6),
    *unary(
        "rsqrt",
        lambda x: 1 / np.sqrt(x),
        draw=base,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=8,
    ),
    Sample(
        op="rsqrt",
        name="special values",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x: 1 / np.sqrt(x),
        dtypes=REAL_FLOATS,
        special=True,
        steps=3,
    ),
    *unary("reciprocal", lambda x: 1 / x, draw=away_from_zero, dtypes=NUMBERS, result=as_float, gradient=True, steps=6),
]

ERRORS = [
    ErrorCase(
        op="hypot",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64)),
        raises=NotImplementedError,
        match=r"hypot: .*int64",
    ),
    ErrorCase(
        op="hypot",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    ),
    ErrorCase(
        op="pow",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*exponent .*\(4,\)",
    ),
    ErrorCase(
        op="pow",
        name="an integer to a negative number",
        call=lambda op, tensor: op(tensor(3, dtype=int64), -1),
        raises=RuntimeError,
        match=r"pow: .*negative.*\n.*input .*int64.*\n.*exponent",
    ),
    *[
        ErrorCase(
            op="pow",
            name=f"an integer to a negative number, {where}",
            call=call,
            raises=RuntimeError,
            match=r"pow: .*negative.*\n.*input .*int64.*\n.*exponent",
        )
        for where, call in {
            "in place": lambda op, tensor: tensor(3, dtype=int64).pow_(-1),
            "out=": lambda op, tensor: op(tensor(3, dtype=int64), -1, out=tensor(3, dtype=int64)),
        }.items()
    ],
    ErrorCase(
        op="pow",
        name="bool",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3, dtype=bool_)),
        raises=RuntimeError,
        match=r"pow: .*bool",
    ),
    ErrorCase(
        op="pow",
        name="a list",
        call=lambda op, tensor: op(tensor(3), [1.0, 2.0, 3.0]),
        raises=TypeError,
        match=r"pow: exponent is list",
    ),
    ErrorCase(
        op="float_power",
        name="a string",
        call=lambda op, tensor: op(tensor(3), "2"),
        raises=TypeError,
        match=r"float_power: str",
    ),
    ErrorCase(
        op="sqrt",
        name="a list",
        call=lambda op, tensor: op([1.0]),
        raises=TypeError,
        match=r"sqrt: input is list",
    ),
]
