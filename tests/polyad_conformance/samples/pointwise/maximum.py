"""The larger or smaller of two operands."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64

from ...patterns import binary
from ...sample import BOOL, REAL, REAL_FLOATS, ErrorCase, Sample

SAMPLES = [
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
        for name in (
            "maximum",
            "minimum",
            "fmax",
            "fmin",
        )
    ],
    ErrorCase(
        op="maximum",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
    ),
]
