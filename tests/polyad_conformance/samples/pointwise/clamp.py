"""Bounds."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex64, float32, float64, uint8

from ...sample import INTEGERS, REAL, REAL_FLOATS, ErrorCase, Sample, as_float


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


SAMPLES = [
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
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64), tensor(3, dtype=complex64)),
            raises=RuntimeError,
            match=rf"{name}: complex",
        )
        for name in ("clamp",)
    ],
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
]
