"""Eigenvalues and eigenvectors."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int64

from ...matrices import adjoint, definite, each, eigenvalues, hermitian_spectrum, regular, spectrum, symmetrized
from ...sample import ErrorCase, Sample, as_real, same

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)


def as_complex(dtype):
    """The complex dtype whose parts are of this precision."""
    return {float32: complex64, float64: complex128}.get(dtype, dtype)


def outer(vectors):
    """v v^H for each column, (*, n, n, n): what of eigenvectors is unique."""
    rows = vectors.mT
    return rows.unsqueeze(-1) * rows.conj().unsqueeze(-2)


def symmetric(name, shape, dtypes=WIDE):
    def call(op, a):
        values, vectors = op(symmetrized(a))
        return values, outer(vectors)

    return Sample(
        op="linalg.eigh",
        name=name,
        inputs=lambda make: (definite(make, shape),),
        call=call,
        reference=lambda a: each(hermitian_spectrum)(symmetrized(a)),
        dtypes=dtypes,
        result=(as_real, same),
        gradient=True,
        steps=16,
        length=8 * shape[-1],
        expand=False,
    )


def symmetric_values(name, shape, dtypes=WIDE):
    return Sample(
        op="linalg.eigvalsh",
        name=name,
        inputs=lambda make: (definite(make, shape),),
        call=lambda op, a: op(symmetrized(a)),
        reference=lambda a: each(lambda a: hermitian_spectrum(a)[0])(symmetrized(a)),
        dtypes=dtypes,
        result=as_real,
        gradient=True,
        steps=16,
        length=8 * shape[-1],
        expand=False,
    )


def one_triangle(op, UPLO):
    """Only the triangle that UPLO names is read."""

    def reference(a, UPLO):
        lower = adjoint(a) if UPLO == "U" else a
        whole = np.tril(lower) + adjoint(np.tril(lower, -1))
        diagonal = np.arange(len(whole))
        whole[diagonal, diagonal] = whole[diagonal, diagonal].real
        return hermitian_spectrum(whole)[0]

    return Sample(
        op=op,
        name=f"UPLO {UPLO}",
        inputs=lambda make: (regular(make, (3, 3)),),
        kwargs={"UPLO": UPLO},
        call=lambda op, a, UPLO: op(a, UPLO) if op.__name__ == "eigvalsh" else op(a, UPLO).eigenvalues,
        reference=reference,
        dtypes=WIDE,
        result=as_real,
        steps=16,
        length=24,
        expand=False,
    )


def in_order(values):
    """Positions in the order of the real parts."""
    return values.real.argsort(-1)


def general(name, shape, dtypes=WIDE):
    def call(op, a):
        values, vectors = op(a)
        order = in_order(values)
        columns = order.unsqueeze(-2).expand(*vectors.shape)
        return values.take_along_dim(order, -1), outer(vectors.take_along_dim(columns, -1))

    return Sample(
        op="linalg.eig",
        name=name,
        inputs=lambda make: (regular(make, shape),),
        call=call,
        reference=each(spectrum),
        dtypes=dtypes,
        result=(as_complex, as_complex),
        gradient=True,
        steps=32,
        length=16 * shape[-1],
        expand=False,
    )


def general_values(name, shape, dtypes=WIDE):
    def call(op, a):
        values = op(a)
        return values.take_along_dim(in_order(values), -1)

    return Sample(
        op="linalg.eigvals",
        name=name,
        inputs=lambda make: (regular(make, shape),),
        call=call,
        reference=each(eigenvalues),
        dtypes=dtypes,
        result=as_complex,
        gradient=True,
        steps=32,
        length=16 * shape[-1],
        expand=False,
    )


SAMPLES = [
    symmetric("matrix", (3, 3), ALL),
    symmetric("batch", (2, 2, 2)),
    symmetric("no rows", (0, 0), (float64,)),
    symmetric_values("matrix", (3, 3), ALL),
    symmetric_values("batch", (2, 2, 2)),
    one_triangle("linalg.eigh", "L"),
    one_triangle("linalg.eigh", "U"),
    one_triangle("linalg.eigvalsh", "U"),
    general("matrix", (3, 3), ALL),
    general("batch", (2, 2, 2)),
    Sample(
        op="linalg.eig",
        name="complex eigenvalues",
        inputs=lambda make: (np.array([[0.0, 2.0], [-2.0, 0.0]], make(()).dtype),),
        call=lambda op, a: op(a).eigenvalues.imag.sort(-1).values,
        reference=lambda a: np.array([-2.0, 2.0]),
        dtypes=(float32, float64),
        steps=8,
        length=2,
        expand=False,
    ),
    general_values("matrix", (3, 3), ALL),
    general_values("batch", (2, 2, 2)),
]


def nan(op, tensor):
    return op(tensor(2, 2, 2) / 0)


ERRORS = [
    *[
        case
        for op in ("linalg.eigh", "linalg.eigvalsh", "linalg.eig", "linalg.eigvals")
        for case in (
            ErrorCase(
                op=op,
                name="not square",
                call=lambda op, tensor: op(tensor(2, 3)),
                raises=RuntimeError,
                match=r"square.*\n.*A ",
            ),
            ErrorCase(
                op=op,
                name="integers",
                call=lambda op, tensor: op(tensor(2, 2, dtype=int64)),
                raises=RuntimeError,
                match=r"A is int64",
            ),
            ErrorCase(op=op, name="nan", call=nan, raises=RuntimeError, match=r"did not converge.*batch element 0"),
        )
    ],
    *[
        ErrorCase(
            op=op,
            name="UPLO",
            call=lambda op, tensor: op(tensor(2, 2), "X"),
            raises=RuntimeError,
            match=r"UPLO is 'X'",
        )
        for op in ("linalg.eigh", "linalg.eigvalsh")
    ],
]
