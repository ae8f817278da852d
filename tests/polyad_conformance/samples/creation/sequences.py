"""Evenly spaced numbers, the identity."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64, int64

from ...sample import DTYPE, EVERYTHING, REAL_FLOATS, ErrorCase, Sample

SAMPLES = [
    *[
        Sample(
            op="linspace",
            name=name,
            inputs=lambda make, args=args: args,
            kwargs={"dtype": DTYPE},
            reference=lambda start, end, steps, dtype: np.linspace(start, end, steps),
            dtypes=REAL_FLOATS,
            steps=2,
            magnitude=lambda *args, **kwargs: 3.0,
        )
        for name, args in (
            ("rising", (-1, 2, 7)),
            ("falling", (2.5, -0.5, 4)),
            ("one", (3, 5, 1)),
            ("none", (0, 1, 0)),
            ("equal", (1, 1, 3)),
        )
    ],
    Sample(
        op="linspace",
        name="integers",
        inputs=lambda make: (0, 10, 4),
        kwargs={"dtype": int64},
        reference=lambda start, end, steps, dtype: np.array([0, 3, 6, 10]),
        dtypes=(int64,),
    ),
    Sample(
        op="logspace",
        inputs=lambda make: (-1, 2, 4),
        kwargs={"dtype": DTYPE},
        reference=lambda start, end, steps, dtype: np.logspace(start, end, steps),
        dtypes=REAL_FLOATS,
        steps=12,
    ),
    *[
        Sample(
            op="eye",
            name=name,
            inputs=lambda make, args=args: args,
            kwargs={"dtype": DTYPE},
            reference=lambda *args, dtype: np.eye(*args),
            dtypes=EVERYTHING,
        )
        for name, args in (("square", (3,)), ("wide", (2, 4)), ("tall", (4, 2)), ("empty", (0,)))
    ],
]

ERRORS = [
    ErrorCase(
        op="linspace",
        name="negative steps",
        call=lambda op, tensor: op(0, 1, -1),
        raises=RuntimeError,
        match=r"linspace: steps is -1",
    ),
    ErrorCase(
        op="logspace",
        name="steps that are no int",
        call=lambda op, tensor: op(0, 1, 2.5),
        raises=TypeError,
        match=r"logspace: steps is float, not an int",
    ),
    ErrorCase(
        op="linspace",
        name="complex bounds",
        call=lambda op, tensor: op(0, 1j, 3, dtype=float64),
        raises=ValueError,
        match=r"linspace: complex bounds do not fit float64",
    ),
    ErrorCase(
        op="eye",
        name="negative size",
        call=lambda op, tensor: op(-1),
        raises=RuntimeError,
        match=r"eye: size -1 of dimension 0 is negative",
    ),
]
