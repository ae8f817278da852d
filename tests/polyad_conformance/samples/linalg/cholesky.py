"""Cholesky factors, and solving with them."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float16, float32, float64, int32, int64

from ...matrices import adjoint, cholesky, definite, each, inverse, regular, symmetrized
from ...sample import Sample, always, same
from .triangular import refused

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)

info = always(int32)


def factor(name, shape, dtypes=WIDE, upper=False, op="linalg.cholesky", **options):
    def reference(a, **_):
        made = each(cholesky)(symmetrized(a))
        return adjoint(made) if upper else made

    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (definite(make, shape),),
        call=lambda op, a: op(symmetrized(a), upper=upper),
        reference=reference,
        dtypes=dtypes,
        gradient=True,
        steps=8,
        length=4 * shape[-1],
        expand=False,
        **options,
    )


def one_triangle(op, **options):
    """Only the triangle that is named is read."""
    return Sample(
        op=op,
        name=f"one triangle {options}",
        inputs=lambda make: (definite(make, (3, 3)) + (np.tril if options["upper"] else np.triu)(make((3, 3)), 0) * 0,),
        kwargs=options,
        call=lambda op, a, upper: op((a.triu() if upper else a.tril()), upper=upper),
        reference=lambda a, upper: adjoint(cholesky(adjoint(a))) if upper else cholesky(a),
        dtypes=WIDE,
        steps=8,
        length=12,
        expand=False,
    )


def by_factor(op, shapes, reference, name="", dtypes=WIDE, **options):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: tuple((regular if square else lambda m, s: m(s))(make, shape) for square, shape in shapes),
        reference=reference,
        kwargs=options,
        dtypes=dtypes,
        gradient=True,
        steps=12,
        length=32,
        magnitude=lambda *given, **options: 4.0,
        expand=False,
    )


def whole(factor, upper):
    """The matrix of which this is the Cholesky factor."""
    factor = np.triu(factor) if upper else np.tril(factor)
    return adjoint(factor) @ factor if upper else factor @ adjoint(factor)


@each
def solve_whole(b, factor, upper=False):
    return inverse(whole(factor, upper)) @ b


@each
def invert_whole(factor, upper=False):
    return inverse(whole(factor, upper))


SAMPLES = [
    factor("lower", (3, 3), ALL),
    factor("upper, batch", (2, 3, 3), upper=True),
    factor("of one", (1, 1)),
    factor("no rows", (0, 0)),
    one_triangle("linalg.cholesky", upper=False),
    one_triangle("linalg.cholesky", upper=True),
    factor("", (3, 3), op="cholesky", upper=True),
    Sample(
        op="linalg.cholesky_ex",
        inputs=lambda make: (definite(make, (2, 3, 3)),),
        call=lambda op, a: op(symmetrized(a)),
        reference=lambda a: (each(cholesky)(symmetrized(a)), np.zeros(len(a), np.int64)),
        result=(same, info),
        dtypes=WIDE,
        gradient=True,
        steps=8,
        length=12,
        expand=False,
    ),
    Sample(
        op="linalg.cholesky_ex",
        name="not positive-definite",
        inputs=lambda make: (np.stack([np.eye(3), np.diag([1.0, -1, 1]), np.zeros((3, 3))]).astype(make(()).dtype),),
        call=lambda op, a: op(a).info,
        reference=lambda a: np.array([0, 2, 1]),
        result=info,
        dtypes=ALL,
        expand=False,
    ),
    by_factor("cholesky_solve", [(False, (3, 2)), (True, (3, 3))], solve_whole),
    by_factor("cholesky_solve", [(False, (2, 3, 1)), (True, (3, 3))], solve_whole, "upper, broadcast", upper=True),
    by_factor("cholesky_inverse", [(True, (3, 3))], invert_whole),
    by_factor("cholesky_inverse", [(True, (2, 3, 3))], invert_whole, "upper, batch", upper=True),
]

ERRORS = [
    refused(
        "linalg.cholesky",
        "not positive-definite",
        lambda op, tensor: op(tensor(2, 2, 2) - 9),
        r"batch element 0: .*leading minor of order 1.*\n.*A ",
    ),
    refused("linalg.cholesky", "not square", lambda op, tensor: op(tensor(2, 3)), r"2 by 3\n.*A "),
    refused("linalg.cholesky", "a vector", lambda op, tensor: op(tensor(3)), r"fewer than two dimensions\n.*A "),
    refused("linalg.cholesky", "integers", lambda op, tensor: op(tensor(2, 2, dtype=int64)), r"A is int64"),
    refused("linalg.cholesky", "16 bits", lambda op, tensor: op(tensor(2, 2, dtype=float16)), r"A is float16"),
    refused(
        "linalg.cholesky_ex",
        "not positive-definite, checked",
        lambda op, tensor: op(tensor(2, 2), check_errors=True),
        r"leading minor of order 1",
    ),
    refused("cholesky", "not positive-definite", lambda op, tensor: op(tensor(2, 2)), r"leading minor.*\n.*input "),
    refused("cholesky_solve", "sizes", lambda op, tensor: op(tensor(2, 2), tensor(3, 3)), r"3 != 2\n.*L .*\n.*B "),
    refused("cholesky_inverse", "not square", lambda op, tensor: op(tensor(2, 3)), r"square.*\n.*L "),
]
