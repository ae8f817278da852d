"""Reverse and shifted orders."""

from __future__ import annotations

import numpy as np

from ...sample import ErrorCase
from .joining import copied

SAMPLES = [
    *[copied("rot90", f"{k} turns", (2, 3), k, reference=np.rot90) for k in (1, 2, -1, 4)],
    copied("rot90", "other dims", (2, 3, 4), 1, (2, 0), reference=np.rot90),
    copied("flipud", "", (3, 2), reference=np.flipud),
    copied("fliplr", "", (3, 2), reference=np.fliplr),
    copied("flip", "one", (3, 4), 0, reference=np.flip),
    copied("flip", "several", (2, 3, 4), (0, -1), reference=np.flip),
    copied("flip", "empty", (0, 3), (0, 1), reference=np.flip),
    copied("roll", "flat", (3, 4), 5, reference=np.roll),
    copied("roll", "one", (3, 4), -1, 1, reference=np.roll),
    copied("roll", "several", (3, 4), (1, 2), (0, 1), reference=np.roll),
    copied("roll", "empty", (0, 3), 1, 0, reference=np.roll),
]

ERRORS = [
    *[
        ErrorCase(
            op="rot90",
            name=name,
            call=lambda op, tensor, shape=shape, dims=dims: op(tensor(*shape), 1, dims),
            raises=RuntimeError,
            match=match,
        )
        for name, shape, dims, match in (
            ("a vector", (3,), (0, 1), r"rot90: 2 dims of a tensor of 1 dimensions\n.*input"),
            ("three dims", (3, 3, 3), (0, 1, 2), r"rot90: 3 dims of"),
            ("a dim twice", (3, 3), (0, -2), r"rot90: both dims are 0\n.*input"),
        )
    ],
    ErrorCase(
        op="roll",
        name="shifts without dims",
        call=lambda op, tensor: op(tensor(2, 3), (1, 2)),
        raises=RuntimeError,
        match=r"roll: several shifts need as many dims\n.*input",
    ),
    ErrorCase(
        op="flip",
        name="a dimension twice",
        call=lambda op, tensor: op(tensor(2, 3), (0, -2)),
        raises=RuntimeError,
        match=r"flip: dim \(0, -2\) names a dimension twice",
    ),
]
