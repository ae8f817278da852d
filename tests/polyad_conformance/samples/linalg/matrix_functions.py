"""Powers and the exponential of matrices."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, complex64, complex128, float16, float32, float64, int64

from ...matrices import each, exponential, inverse, regular
from ...sample import ErrorCase, Sample

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)


def exp(name, draw, dtypes=WIDE, op="linalg.matrix_exp", gradient=True):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (draw(make),),
        reference=each(exponential),
        dtypes=dtypes,
        gradient=gradient,
        steps=24,
        length=64,
        expand=False,
    )


@each
def repeated(a, n):
    base = inverse(a) if n < 0 else a
    made = np.eye(len(a), dtype=a.dtype)
    for _ in range(abs(n)):
        made = made @ base
    return made


def power(n, shape=(3, 3), dtypes=WIDE, op="linalg.matrix_power", gradient=True):
    return Sample(
        op=op,
        name=f"{n} {dtypes[0].name}" if n else f"{n}",
        inputs=lambda make: (regular(make, shape) if n < 0 else make(shape, -2, 2), n),
        reference=repeated,
        dtypes=dtypes,
        gradient=gradient,
        steps=16,
        length=64,
        magnitude=lambda a, n: np.sum(np.abs(a)) ** abs(n) if n > 0 else 8.0,
        expand=False,
    )


SAMPLES = [
    # One for each degree of the approximation, and one that is scaled.
    exp("tiny", lambda make: make((2, 2)) * np.asarray(0.002, make(()).dtype)),
    exp("small", lambda make: make((2, 2), -0.05, 0.05), ALL),
    exp("below 1", lambda make: make((2, 2), -0.2, 0.2)),
    exp("about 1", lambda make: make((2, 2, 2), -0.5, 0.5), ALL),
    exp("about 4", lambda make: make((3, 3), -1, 1), ALL),
    exp("squared", lambda make: make((3, 3), -4, 4), WIDE, gradient=False),
    exp("squared, batch", lambda make: np.stack([make((2, 2), -4, 4), make((2, 2), -0.1, 0.1)]), ALL, gradient=False),
    exp("no rows", lambda make: make((2, 0, 0))),
    exp("16 bits", lambda make: make((2, 2), -0.5, 0.5), (float16, bfloat16), gradient=False),
    exp("", lambda make: make((2, 2), -0.5, 0.5), op="matrix_exp"),
    Sample(
        op="linalg.matrix_exp",
        name="nan in one of two",
        inputs=lambda make: (np.array([[[np.nan, 0], [0, 0]], [[0, 0], [0, 0]]], make(()).dtype),),
        reference=lambda a: np.stack([np.full((2, 2), np.nan), np.eye(2)]),
        dtypes=(float32, float64),
        steps=4,
        length=4,
        expand=False,
    ),
    power(0, dtypes=(*WIDE, int64)),
    power(1, dtypes=(float64,)),
    power(3, (2, 3, 3), (float32, float64, complex128)),
    power(6, (2, 2)),
    power(5, (2, 2), (int64,), gradient=False),
    power(-1, dtypes=(float64,)),
    power(-3, (2, 2)),
    power(2, (2, 2), (float16, bfloat16), gradient=False),
    power(2, op="matrix_power"),
]

ERRORS = [
    case
    for prefix, name in (("linalg.", "A"), ("", "input"))
    for case in (
        ErrorCase(
            op=f"{prefix}matrix_exp",
            name="not square",
            call=lambda op, tensor: op(tensor(2, 3)),
            raises=RuntimeError,
            match=rf"2 by 3\n.*{name} ",
        ),
        ErrorCase(
            op=f"{prefix}matrix_exp",
            name="integers",
            call=lambda op, tensor: op(tensor(2, 2, dtype=int64)),
            raises=RuntimeError,
            match=rf"{name} is int64",
        ),
        ErrorCase(
            op=f"{prefix}matrix_power",
            name="not square",
            call=lambda op, tensor: op(tensor(2, 3), 2),
            raises=RuntimeError,
            match=rf"square matrices\n.*{name} ",
        ),
        ErrorCase(
            op=f"{prefix}matrix_power",
            name="a fraction",
            call=lambda op, tensor: op(tensor(2, 2), 0.5),
            raises=TypeError,
            match=r"n is float, not an int",
        ),
        ErrorCase(
            op=f"{prefix}matrix_power",
            name="the inverse of a singular matrix",
            call=lambda op, tensor: op(tensor(2, 2) * 0, -1),
            raises=RuntimeError,
            match=rf"singular.*\n.*{name} ",
        ),
    )
]
