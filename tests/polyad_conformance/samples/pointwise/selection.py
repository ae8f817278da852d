"""Choosing between elements."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import bool_, complex64, float32, float64, uint8

from ...patterns import binary
from ...sample import BOOL, COMPLEX, EVERYTHING, INTEGERS, NUMBERS, REAL, REAL_FLOATS, ErrorCase, Sample, as_float


def chosen(name, *shapes):
    return Sample(
        op="where",
        name=name,
        inputs=lambda make: (make.mask(shapes[0]), make(shapes[1]), make(shapes[2])),
        reference=np.where,
        dtypes=EVERYTHING,
        gradient=(1, 2),
        special=True,
    )


def limited(x, low=None, high=None, min=None, max=None):
    """The definition: raised to the lower bound, then lowered to the upper; nan stays."""
    low, high = low if min is None else min, high if max is None else max
    if low is not None:
        x = (
            np.where(np.isnan(x) | np.isnan(low), np.nan, np.where(x < low, low, x))
            if np.asarray(x).dtype.kind == "f"
            else np.where(x < low, low, x)
        )
    if high is not None:
        x = (
            np.where(np.isnan(x) | np.isnan(high), np.nan, np.where(x > high, high, x))
            if np.asarray(x).dtype.kind == "f"
            else np.where(x > high, high, x)
        )
    return x


def replaced(x, nan=0.0, posinf=None, neginf=None):
    result = np.where(np.isnan(x), nan, x)
    result = np.where(np.isposinf(x), posinf, result)
    return np.where(np.isneginf(x), neginf, result)


def special_row(make):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5], np.float64)
    return (values.astype(make(()).dtype),)


SAMPLES = [
    *[
        Sample(
            op="heaviside",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left, -2, 2), make(right, 0, 3)),
            reference=lambda x, values: np.where(x == 0, values, x > 0).astype(np.result_type(x)),
            dtypes=BOOL + REAL,
            special=True,
        )
        for name, left, right in (
            ("broadcast", (3, 1), (4,)),
            ("1-d", (37,), (37,)),
            ("0-d", (), ()),
            ("empty", (0, 3), (3,)),
        )
    ],
    chosen("equal shapes", (3, 4), (3, 4), (3, 4)),
    chosen("broadcast", (3, 1), (4,), (3, 4)),
    chosen("condition broadcast to operands", (), (2, 3), (3,)),
    chosen("0-d", (), (), ()),
    chosen("empty", (0, 3), (3,), (0, 3)),
    chosen("past every vector width", (67,), (67,), (67,)),
    # Backends may choose another way where there are many elements.
    Sample(
        op="where",
        name="many elements",
        inputs=lambda make: (make.mask((90, 101)), make((90, 101)), make((90, 101))),
        reference=np.where,
        dtypes=EVERYTHING,
        special=True,
    ),
    *[
        Sample(
            op="where",
            name=f"{size} elements or {number}",
            inputs=lambda make, size=size, number=number: (make.mask((size,)), make((size,)), number),
            reference=np.where,
            dtypes=NUMBERS,
            gradient=(1,) if size < 100 else False,
            special=True,
        )
        for size in (9, 1100)
        for number in (0, 3)
    ],
    Sample(
        op="where",
        name="a number or elements",
        inputs=lambda make: (make.mask((9,)), 0, make((9,))),
        reference=np.where,
        dtypes=NUMBERS,
        gradient=(2,),
    ),
    Sample(
        op="where",
        name="uint8 condition",
        inputs=lambda make: (make.mask((9,)).astype(np.uint8), make((9,)), make((9,))),
        reference=np.where,
        dtypes=(float32,),
    ),
    *binary("maximum", np.maximum, draw=lambda make, shape: make.distinct(shape), dtypes=REAL, number=None),
    *binary("minimum", np.minimum, draw=lambda make, shape: make.distinct(shape), dtypes=REAL, number=None),
    *[
        Sample(
            op=op,
            name="gradient",
            inputs=lambda make: (
                make.distinct((3, 4)),
                make.distinct((3, 4)) + np.asarray(0.125).astype(make(()).dtype),
            ),
            reference=reference,
            dtypes=REAL_FLOATS,
            gradient=True,
        )
        for op, reference in (("maximum", np.maximum), ("minimum", np.minimum), ("fmax", np.fmax), ("fmin", np.fmin))
    ],
    Sample(
        op="maximum", name="bool", inputs=lambda make: (make((9,)), make((9,))), reference=np.logical_or, dtypes=BOOL
    ),
    *binary("fmax", np.fmax, dtypes=REAL, number=None),
    *binary("fmin", np.fmin, dtypes=REAL, number=None),
    *[
        Sample(
            op="clamp",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs=kwargs,
            reference=limited,
            dtypes=REAL if name != "fraction" else REAL_FLOATS,
            gradient=True,
            special=True,
        )
        for name, shape, kwargs in (
            ("both", (3, 4), {"min": 1, "max": 3}),
            ("fraction", (3, 4), {"min": -0.513, "max": 0.7071}),
            ("lower", (37,), {"min": 1}),
            ("upper", (2, 3), {"max": 1}),
            ("lower above upper", (5,), {"min": 3, "max": 1}),
            ("0-d", (), {"min": 1, "max": 3}),
            ("empty", (0, 3), {"min": 1}),
        )
    ],
    Sample(
        op="clamp",
        name="integers by fractions",
        inputs=lambda make: (make((9,)),),
        kwargs={"min": 0.5, "max": 2.5},
        reference=limited,
        dtypes=INTEGERS,
        result=as_float,
    ),
    Sample(
        op="clamp",
        name="tensors",
        inputs=lambda make: (
            make.distinct((3, 4)),
            make.distinct((4,)) - np.asarray(0.125).astype(make(()).dtype),
            make.distinct((3, 1)),
        ),
        reference=limited,
        dtypes=REAL_FLOATS,
        special=True,
    ),
    Sample(
        op="clamp",
        name="gradient of bounds",
        inputs=lambda make: (
            make.random.permutation(12.0 * np.arange(12)).reshape(3, 4).astype(make(()).dtype),
            make((4,), 20, 31),
            make((3, 1), 77, 83),
        ),
        reference=limited,
        dtypes=(float32, float64),
        gradient=True,
    ),
    Sample(op="clamp_min", inputs=lambda make: (make((9,)), 1), reference=limited, dtypes=REAL, gradient=True),
    Sample(
        op="clamp_max",
        inputs=lambda make: (make((9,)), 1),
        reference=lambda x, high: limited(x, None, high),
        dtypes=REAL,
        gradient=True,
    ),
    Sample(
        op="nan_to_num",
        inputs=special_row,
        kwargs={"nan": 1.5, "posinf": 2.0, "neginf": -2.0},
        reference=replaced,
        dtypes=REAL_FLOATS,
    ),
    Sample(
        op="nan_to_num",
        name="complex",
        inputs=lambda make: (
            np.array([complex(np.nan, 1), complex(2, np.inf), complex(-np.inf, np.nan)], make(()).dtype),
        ),
        kwargs={"nan": 1.5, "posinf": 2.0, "neginf": -2.0},
        reference=lambda x, nan, posinf, neginf: np.array([1.5 + 1j, 2 + 2j, -2 + 1.5j]),
        dtypes=COMPLEX,
        expand=False,
    ),
    Sample(
        op="nan_to_num",
        name="finite",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x: x,
        dtypes=(float64,),
        gradient=True,
        second_gradient=False,
    ),
    Sample(
        op="nan_to_num",
        name="integers",
        inputs=lambda make: (make((5,)),),
        reference=lambda x: x,
        dtypes=INTEGERS,
    ),
]

ERRORS = [
    ErrorCase(
        op="heaviside",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(3), tensor(3, dtype=float64)),
        raises=RuntimeError,
        match=r"heaviside: input is float32, values float64",
    ),
    ErrorCase(
        op="heaviside",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64), tensor(3, dtype=complex64)),
        raises=RuntimeError,
        match=r"heaviside: complex",
    ),
    ErrorCase(
        op="heaviside",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*values .*\(4,\)",
    ),
    ErrorCase(
        op="where",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*condition .*\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="where",
        name="condition that is no mask",
        call=lambda op, tensor: op(tensor(3), tensor(3), tensor(3)),
        raises=RuntimeError,
        match=r"where: condition is float32.*\n.*condition",
    ),
    ErrorCase(
        op="where",
        name="one choice",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3)),
        raises=TypeError,
        match=r"where: input and other go together",
    ),
    ErrorCase(
        op="where",
        name="a number outside the dtype",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3, dtype=uint8), 300),
        raises=RuntimeError,
        match=r"where: .*300",
    ),
    *[
        ErrorCase(
            op=name,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64), tensor(3, dtype=complex64)),
            raises=RuntimeError,
            match=rf"{name}: complex",
        )
        for name in ("maximum", "minimum", "fmax", "fmin", "clamp")
    ],
    ErrorCase(
        op="maximum",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    ),
    ErrorCase(
        op="clamp",
        name="no bound",
        call=lambda op, tensor: op(tensor(3)),
        raises=ValueError,
        match=r"clamp: .*\n.*input",
    ),
    ErrorCase(
        op="clamp",
        name="a bound outside the dtype",
        call=lambda op, tensor: op(tensor(3, dtype=uint8), -1, 5),
        raises=RuntimeError,
        match=r"clamp: .*-1",
    ),
    ErrorCase(
        op="clamp",
        name="bool",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), False, True),
        raises=RuntimeError,
        match=r"clamp: .*bool",
    ),
    ErrorCase(
        op="clamp",
        name="a string",
        call=lambda op, tensor: op(tensor(3), "0"),
        raises=TypeError,
        match=r"clamp: min is str",
    ),
    ErrorCase(
        op="nan_to_num",
        name="a word for nan",
        call=lambda op, tensor: op(tensor(3), "zero"),
        raises=TypeError,
        match=r"nan_to_num: nan is str",
    ),
]
