"""Outer and Kronecker products."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int64

from ...sample import BOOL, ErrorCase, Sample

FEW = (int64, float16, float32, float64, complex128)


def kron(a, b):
    return np.kron(a, b)


SAMPLES = [
    *[
        Sample(
            op="outer",
            name=f"{n} by {m}",
            inputs=lambda make, n=n, m=m: (make((n,)), make((m,))),
            reference=np.outer,
            dtypes=BOOL + FEW,
            gradient=True,
            special=True,
        )
        for n, m in ((3, 9), (0, 2))
    ],
    *[
        Sample(
            op="kron",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right)),
            reference=kron,
            dtypes=BOOL + FEW,
            gradient=True,
        )
        for name, left, right in (
            ("matrices", (2, 3), (3, 2)),
            ("vector and matrix", (3,), (2, 2)),
            ("0-d", (), (3,)),
            ("more dimensions", (2, 1, 2), (3, 2)),
        )
    ],
]

ERRORS = [
    ErrorCase(
        op="outer",
        name="a matrix",
        call=lambda op, tensor: op(tensor(2, 2), tensor(2)),
        raises=RuntimeError,
        match=r"outer: input has 2 dimensions.*\n.*input",
    ),
    ErrorCase(
        op="kron",
        name="a number",
        call=lambda op, tensor: op(tensor(2), 3),
        raises=TypeError,
        match=r"kron: other is int",
    ),
]
