"""The step function."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, float64

from ...sample import BOOL, REAL, ErrorCase, Sample

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
]
