"""Comparisons, and questions about single elements."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, float64, int8, int64, uint8

from ...patterns import beside_a_number, binary, unary, wide_integers
from ...sample import COMPLEX, EVERYTHING, FLOATS, REAL, REAL_FLOATS, ErrorCase, Sample, as_bool


def few(make, shape):
    """Few different values, so that some pairs are equal."""
    return (
        make(shape)
        if make.dtype not in REAL_FLOATS
        else np.asarray(make.random.integers(-2, 3, shape)).astype(make(()).dtype)
    )


def compared(name, reference, dtypes):
    """A comparison; with numbers that an integer dtype cannot hold, which are taken modulo 2**bits."""
    return [
        *binary(name, reference, draw=few, dtypes=dtypes, result=as_bool, number=1),
        beside_a_number(name, reference, result=as_bool),
        wide_integers(name, reference, result=as_bool),
        Sample(
            op=name,
            name="a number outside uint8",
            inputs=lambda make: (np.array([0, 44, 100, 255], np.uint8), 300),
            reference=lambda a, b: reference(a, b - 256),
            dtypes=(uint8,),
            result=as_bool,
        ),
        Sample(
            op=name,
            name="a negative number beside uint8",
            inputs=lambda make: (np.array([0, 44, 254, 255], np.uint8), -1),
            reference=lambda a, b: reference(a, b + 256),
            dtypes=(uint8,),
            result=as_bool,
        ),
        Sample(
            op=name,
            name="a fraction beside integers",
            inputs=lambda make: (make((9,)), 0.5),
            reference=reference,
            dtypes=(uint8, int8, int64),
            result=as_bool,
        ),
    ]


def close(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = a + 0, b + 0
    finite = np.isfinite(a) & np.isfinite(b)
    near = np.where(finite, np.abs(a - b) <= atol + rtol * np.abs(b), a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def neighbours(make, shape):
    """Two arrays, some elements of which are equal, some near and some apart."""
    a = make(shape) if make.dtype in FLOATS else make(shape, -9, 9)
    if make.dtype in FLOATS:
        b = a * np.asarray(make.random.choice([1.0, 1.001, 1.5], shape)).astype(a.dtype)
    else:
        b = np.where(make.random.integers(0, 2, shape), a, make(shape, -9, 9))
    return a, np.asarray(b).astype(a.dtype)


def complex_specials(make):
    values = [1 + 2j, complex(np.nan, 1), complex(1, np.nan), complex(np.inf, 1), complex(1, -np.inf)]
    return (np.array(values).astype(make(()).dtype),)


ORDERED = tuple(dtype for dtype in EVERYTHING if dtype not in COMPLEX)

SAMPLES = [
    *compared("eq", np.equal, EVERYTHING),
    *compared("ne", np.not_equal, EVERYTHING),
    *compared("lt", np.less, ORDERED),
    *compared("le", np.less_equal, ORDERED),
    *compared("gt", np.greater, ORDERED),
    *compared("ge", np.greater_equal, ORDERED),
    *unary("isnan", np.isnan, dtypes=EVERYTHING, result=as_bool),
    *unary("isinf", np.isinf, dtypes=EVERYTHING, result=as_bool),
    *unary("isfinite", np.isfinite, dtypes=EVERYTHING, result=as_bool),
    *[
        Sample(op=name, name="complex", inputs=complex_specials, reference=reference, dtypes=COMPLEX, result=as_bool)
        for name, reference in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite))
    ],
    *unary("isposinf", np.isposinf, dtypes=REAL, result=as_bool),
    *unary("isneginf", np.isneginf, dtypes=REAL, result=as_bool),
    *[
        Sample(
            op="isclose",
            name=name,
            inputs=lambda make, shape=shape: neighbours(make, shape),
            kwargs=kwargs,
            reference=close,
            dtypes=EVERYTHING,
            result=as_bool,
            special=True,
        )
        for name, shape, kwargs in (
            ("default", (3, 4), {}),
            ("rtol", (37,), {"rtol": 0.1}),
            ("exact", (3, 4), {"rtol": 0, "atol": 0}),
            ("equal nan", (3, 4), {"equal_nan": True}),
            ("0-d", (), {}),
            ("empty", (0, 3), {}),
        )
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name="shapes that do not broadcast",
            call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
            raises=RuntimeError,
            match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
        )
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    ],
    *[
        ErrorCase(
            op=name,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64), 1),
            raises=RuntimeError,
            match=rf"{name}: complex",
        )
        for name in ("lt", "le", "gt", "ge")
    ],
    ErrorCase(
        op="eq",
        name="a string",
        call=lambda op, tensor: op(tensor(3), "1"),
        raises=TypeError,
        match=r"eq: other is str",
    ),
    ErrorCase(
        op="equal",
        name="a number",
        call=lambda op, tensor: op(tensor(3), 1),
        raises=TypeError,
        match=r"equal: other is int",
    ),
    ErrorCase(
        op="isclose",
        name="dtypes differ",
        call=lambda op, tensor: op(tensor(3), tensor(3, dtype=float64)),
        raises=RuntimeError,
        match=r"isclose: .*\n.*input .*float32.*\n.*other .*float64",
    ),
    *[
        ErrorCase(
            op=name,
            name="negative tolerance",
            call=lambda op, tensor: op(tensor(3), tensor(3), rtol=-1),
            raises=ValueError,
            match=r"isclose: rtol is -1",
        )
        for name in ("isclose", "allclose")
    ],
]
