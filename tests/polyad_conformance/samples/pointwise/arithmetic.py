"""Arithmetic of elements."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, complex64, float16, float32, float64, int8, int32, int64, uint8

from ...patterns import beside_a_number, binary, unary, wide_integers
from ...sample import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REAL,
    REAL_FLOATS,
    ErrorCase,
    Sample,
    as_float,
    as_real,
)


def divisor(make, shape):
    return make.nonzero(shape)


def apart(make, shape):
    """Dividends whose quotient by ±1 or ±2.5 is far from a whole number, so that rounding decides nothing."""
    if make.dtype in INTEGERS:
        return make(shape)
    values = make.random.integers(-8, 8, shape) + 0.375
    return np.asarray(values).astype(make(()).dtype)


def divided(make, shape):
    return np.asarray(make.random.choice([2, 3] if make.dtype is uint8 else [-3, -2, 2, 3], shape)).astype(
        make(()).dtype
    )


def remainder(a, b):
    """The remainder with the divisor's sign, from its definition."""
    if a.dtype.kind == "i":
        return a - b * floor_of_quotient(a, b)
    left = np.fmod(a, b)
    return np.where((left != 0) & ((left < 0) != (b < 0)), left + b, left)


def remainder_towards_zero(a, b):
    if np.asarray(a).dtype.kind == "i":
        return a - b * trunc_of_quotient(a, b)
    return np.fmod(a, b)


def floor_of_quotient(a, b):
    return np.floor_divide(a, b)  # of a negative quotient that underflows it is -1, where the floor of a / b is -0


def trunc_of_quotient(a, b, rounding_mode="trunc"):
    if np.asarray(a).dtype.kind != "i":
        return np.trunc(np.true_divide(a, b))
    floor = np.floor_divide(a, b)
    return floor + ((floor * b != a) & ((a < 0) != (b < 0)))


def sign(x):
    return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(x.dtype)


def sgn(x):
    if x.dtype.kind != "c":
        return sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


def positive_zeros(result, x):
    assert not np.signbit(result.real).any(), result
    assert not np.signbit(result.imag).any(), result


def sizes(a, b, *rest, alpha=1):
    """What the error of a sum is relative to: the sum without cancellation."""
    return np.abs(a) + np.abs(alpha) * np.abs(b)


def interpolated(a, b, weight):
    return a + weight * (b - a)


def interpolated_sizes(a, b, weight):
    return (np.abs(a) + np.abs(b)) * (1 + np.abs(weight))


def scaled_product(a, b, c, value=1):
    return a + value * b * c


def scaled_quotient(a, b, c, value=1):
    return a + value * b / c


SAMPLES = [
    *binary("add", np.add, dtypes=NUMBERS, gradient=True),
    *[wide_integers(op, reference) for op, reference in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply))],
    *[
        wide_integers(op, reference)
        for op, reference in (("floor_divide", np.floor_divide), ("remainder", np.remainder))
    ],
    *[wide_integers(op, reference, operands=1) for op, reference in (("neg", np.negative), ("abs", np.abs))],
    Sample(op="add", name="bool", inputs=lambda make: (make((9,)), make((9,))), reference=np.logical_or, dtypes=BOOL),
    Sample(
        op="add",
        name="alpha",
        inputs=lambda make: (make((3, 4)), make((4,))),
        kwargs={"alpha": 3},
        reference=lambda a, b, alpha: a + alpha * b,
        magnitude=sizes,
        dtypes=NUMBERS,
        gradient=True,
        steps=3,
    ),
    Sample(
        op="add",
        name="a number outside the dtype",
        inputs=lambda make: (make((5,)), 1000),
        reference=np.add,
        dtypes=(uint8, int8),
    ),
    *binary("sub", np.subtract, dtypes=NUMBERS, gradient=True),
    Sample(
        op="sub",
        name="alpha",
        inputs=lambda make: (make((3, 4)), make((3, 1))),
        kwargs={"alpha": 2},
        reference=lambda a, b, alpha: a - alpha * b,
        magnitude=sizes,
        dtypes=NUMBERS,
        gradient=True,
        steps=3,
    ),
    Sample(
        op="rsub",
        inputs=lambda make: (make((3, 4)), make((4,))),
        reference=lambda a, b: b - a,
        dtypes=NUMBERS,
        gradient=True,
    ),
    Sample(
        op="rsub",
        name="from a number",
        inputs=lambda make: (make((3, 4)), 2),
        reference=lambda a, b: b - a,
        dtypes=NUMBERS,
    ),
    *binary("mul", np.multiply, dtypes=NUMBERS, gradient=True, steps=3),
    Sample(op="mul", name="bool", inputs=lambda make: (make((9,)), make((9,))), reference=np.logical_and, dtypes=BOOL),
    *binary("div", np.true_divide, draw_other=divisor, dtypes=NUMBERS, result=as_float, gradient=True, steps=5),
    Sample(
        op="div",
        name="a number by a tensor",
        inputs=lambda make: (3, make.nonzero((5,))),
        reference=np.true_divide,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=5,
    ),
    Sample(
        op="div",
        name="rounded down",
        inputs=lambda make: (apart(make, (3, 4)), divided(make, (4,))),
        kwargs={"rounding_mode": "floor"},
        reference=lambda a, b, rounding_mode: floor_of_quotient(a, b),
        dtypes=REAL,
        gradient=True,
        second_gradient=False,
    ),
    Sample(
        op="div",
        name="rounded towards zero",
        inputs=lambda make: (apart(make, (3, 4)), divided(make, (4,))),
        kwargs={"rounding_mode": "trunc"},
        reference=trunc_of_quotient,
        dtypes=REAL,
        gradient=True,
        second_gradient=False,
    ),
    *binary("true_divide", np.true_divide, draw_other=divisor, dtypes=(int32, float32), result=as_float, steps=3),
    *binary(
        "floor_divide",
        floor_of_quotient,
        draw=apart,
        draw_other=divided,
        dtypes=REAL,
        gradient=True,
        second_gradient=False,
        special=False,
        number=3,
    ),
    Sample(
        op="floor_divide",
        name="almost whole",
        inputs=lambda make: tuple(
            np.array(values).astype(make(()).dtype) for values in ([1, 3, -1, 6, 7], [0.1, 0.1, 0.1, 0.2, -0.7])
        ),
        reference=lambda a, b: np.rint((a - remainder(a, b)) / b),  # the quotient itself may round up to a whole number
        dtypes=REAL_FLOATS,
    ),
    Sample(
        op="div",
        name="almost whole, rounded towards zero",  # in half types the quotient itself may round up to a whole number
        inputs=lambda make: (
            np.array([-8.75, 8.75, 3]).astype(make(()).dtype),
            np.array([-0.97265625, 0.97265625, 1]).astype(make(()).dtype),
        ),
        kwargs={"rounding_mode": "trunc"},
        reference=trunc_of_quotient,
        dtypes=REAL_FLOATS,
    ),
    *binary("remainder", remainder, draw=apart, draw_other=divided, dtypes=REAL, gradient=True, number=3),
    *binary(
        "fmod",
        remainder_towards_zero,
        draw=apart,
        draw_other=divided,
        dtypes=REAL,
        gradient=True,
        number=3,
    ),
    *[
        beside_a_number(op, reference)
        for op, reference in (("sub", np.subtract), ("remainder", remainder), ("fmod", np.fmod))
    ],
    Sample(
        op="floor_divide",
        name="a number beside half types",  # which is not rounded
        inputs=lambda make: (np.array([0.3, -0.3, 0.9, 1.2]).astype(make(()).dtype), 0.3),
        reference=lambda a, number: np.floor(a / number),
        dtypes=(float16, bfloat16),
    ),
    Sample(
        op="remainder",
        name="special values",
        inputs=lambda make: (make((3, 4)), make.nonzero((3, 4))),
        reference=remainder,
        dtypes=(float32, float64),
        special=True,
        steps=4,
        magnitude=lambda a, b: np.abs(a) + np.abs(b),
    ),
    *unary("neg", np.negative, dtypes=NUMBERS, gradient=True),
    *unary("positive", np.positive, dtypes=NUMBERS, gradient=True, aliasing="maybe"),
    *unary("abs", np.abs, draw=divisor, dtypes=NUMBERS, result=as_real, gradient=True, steps=4),
    *unary("sign", sign, draw=divisor, dtypes=REAL, gradient=True, second_gradient=False),
    Sample(op="sign", name="bool", inputs=lambda make: (make((9,)),), reference=lambda x: x, dtypes=BOOL),
    *unary("sgn", sgn, draw=divisor, dtypes=REAL, gradient=True, second_gradient=False),
    Sample(
        op="sgn",
        name="complex",
        inputs=lambda make: (make.nonzero((3, 4)),),
        reference=sgn,
        dtypes=COMPLEX,
        gradient=True,
        steps=6,
    ),
    Sample(
        op="sgn",
        name="complex zeros",
        inputs=lambda make: (make((3,)) * 0,),
        reference=sgn,
        dtypes=COMPLEX,
        holds=positive_zeros,
    ),
    *unary("conj", np.conjugate, dtypes=NUMBERS, gradient=True, aliasing="maybe"),
    *[
        Sample(
            op="lerp",
            name=f"weight {weight}",
            inputs=lambda make, weight=weight: (make((3, 4)), make((4,)), weight),
            reference=interpolated,
            magnitude=interpolated_sizes,
            gradient=True,
            steps=4,
        )
        for weight in (0.25, 0.75, 1.0, -0.5)
    ],
    Sample(
        op="lerp",
        name="weights",
        inputs=lambda make: (make((3, 1)), make((4,)), make((3, 4), 0.0, 1.0)),
        reference=interpolated,
        magnitude=interpolated_sizes,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=4,
    ),
    Sample(
        op="addcmul",
        inputs=lambda make: (make((3, 4)), make((4,)), make((3, 1))),
        reference=scaled_product,
        magnitude=lambda a, b, c, value=1: np.abs(a) + np.abs(value * b * c),
        dtypes=NUMBERS,
        gradient=True,
        steps=4,
    ),
    Sample(
        op="addcmul",
        name="value",
        inputs=lambda make: (make((4,)), make((3, 4)), make(())),
        kwargs={"value": 2},
        reference=scaled_product,
        magnitude=lambda a, b, c, value=1: np.abs(a) + np.abs(value * b * c),
        dtypes=NUMBERS,
        gradient=True,
        steps=4,
    ),
    Sample(
        op="addcdiv",
        inputs=lambda make: (make((3, 4)), make((4,)), make.nonzero((3, 1))),
        kwargs={"value": 0.5},
        reference=scaled_quotient,
        magnitude=lambda a, b, c, value=1: np.abs(a) + np.abs(value * b / c),
        dtypes=FLOATS,
        gradient=True,
        steps=8,
    ),
]


def _integers_by_zero(name):
    return ErrorCase(
        op=name,
        name="integers by zero",
        call=lambda op, tensor: op(tensor(3, dtype=int64), 0),
        raises=RuntimeError,
        match=rf"{name}: .*zero",
    )


def _broadcast(name):
    return ErrorCase(
        op=name,
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    )


def _refused(name, dtype, what):
    return ErrorCase(
        op=name,
        name=f"{dtype.name}",
        call=lambda op, tensor: op(tensor(3, dtype=dtype), tensor(3, dtype=dtype)),
        raises=RuntimeError,
        match=rf"{name}: .*{what}",
    )


ERRORS = [
    *[_broadcast(name) for name in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod")],
    *[_integers_by_zero(name) for name in ("floor_divide", "remainder", "fmod")],
    *[_refused(name, bool_, "bool") for name in ("sub", "floor_divide", "remainder", "fmod")],
    *[_refused(name, complex64, "complex") for name in ("floor_divide", "remainder", "fmod")],
    ErrorCase(
        op="add",
        name="a string",
        call=lambda op, tensor: op(tensor(3), "2"),
        raises=TypeError,
        match=r"add: other is str",
    ),
    ErrorCase(
        op="add",
        name="no operand",
        call=lambda op, tensor: op(tensor(3), None),
        raises=TypeError,
        match=r"add: other is NoneType",
    ),
    ErrorCase(
        op="add",
        name="a fraction of integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64), alpha=0.5),
        raises=RuntimeError,
        match=r"add: alpha is 0.5.*int64\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="add",
        name="alpha that is no number",
        call=lambda op, tensor: op(tensor(3), tensor(3), alpha="1"),
        raises=TypeError,
        match=r"add: alpha is str",
    ),
    ErrorCase(
        op="div",
        name="rounding_mode",
        call=lambda op, tensor: op(tensor(3), 2, rounding_mode="up"),
        raises=ValueError,
        match=r"div: rounding_mode is 'up'\n.*input",
    ),
    ErrorCase(
        op="neg",
        name="bool",
        call=lambda op, tensor: op(tensor(3, dtype=bool_)),
        raises=RuntimeError,
        match=r"neg: .*bool",
    ),
    ErrorCase(
        op="sign",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=RuntimeError,
        match=r"sign: .*complex",
    ),
    ErrorCase(
        op="lerp",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64), 0.5),
        raises=RuntimeError,
        match=r"lerp: .*int64",
    ),
    ErrorCase(
        op="addcdiv",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64), tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"addcdiv: .*int64",
    ),
]
