"""Triangular systems."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64

from ...matrices import each, inverse, regular
from ...sample import ErrorCase, Sample, same

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)


@each
def solution(a, b, upper, left=True, unitriangular=False, transpose=False):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        a = a - np.diag(np.diag(a)) + np.eye(len(a))
    if transpose:
        a = a.T
    return inverse(a) @ b if left else b @ inverse(a)


def solve_triangular(name, a, b, dtypes=WIDE, **options):
    return Sample(
        op="linalg.solve_triangular",
        name=name,
        inputs=lambda make: (regular(make, a), make(b)),
        reference=lambda a, b, **options: solution(a, b, **options),
        kwargs=options,
        dtypes=dtypes,
        gradient=True,
        steps=8,
        length=4 * a[-1],
        expand=False,
    )


def refused(op, name, call, match, raises=RuntimeError):
    return ErrorCase(op=op, name=name, call=call, raises=raises, match=match)


SAMPLES = [
    solve_triangular("upper", (3, 3), (3, 2), ALL, upper=True),
    solve_triangular("lower, right", (3, 3), (2, 3), upper=False, left=False),
    solve_triangular(
        "upper, right, ones on the diagonal", (2, 3, 3), (2, 2, 3), upper=True, left=False, unitriangular=True
    ),
    solve_triangular("lower, batches broadcast", (2, 1, 3, 3), (2, 3, 1), upper=False, unitriangular=True),
    solve_triangular("many small", (24, 2, 2), (24, 2, 2), upper=True),
    solve_triangular("no rows", (0, 0), (0, 2), upper=True),
    solve_triangular("no batches", (0, 3, 3), (0, 3, 2), upper=False),
    Sample(
        op="triangular_solve",
        inputs=lambda make: (make((3, 2)), regular(make, (3, 3))),
        kwargs={"upper": False, "transpose": True},
        reference=lambda b, a, **options: (solution(a, b, **options), a),
        result=(same, same),
        dtypes=WIDE,
        gradient=True,
        steps=8,
        length=12,
        expand=False,
    ),
]

ERRORS = [
    refused(
        "linalg.solve_triangular",
        "sizes",
        lambda op, tensor: op(tensor(3, 3), tensor(2, 2), upper=True),
        r"3 != 2\n.*A .*\n.*B ",
    ),
    refused(
        "linalg.solve_triangular", "not square", lambda op, tensor: op(tensor(3, 2), tensor(2, 2), upper=True), "square"
    ),
    refused(
        "linalg.solve_triangular",
        "two dtypes",
        lambda op, tensor: op(tensor(2, 2), tensor(2, 2, dtype=complex64), upper=True),
        r"one dtype.*\n.*A .*\n.*B ",
    ),
    refused("triangular_solve", "sizes", lambda op, tensor: op(tensor(2, 2), tensor(3, 3)), r"3 != 2\n.*A .*\n.*b "),
]
