"""Singular values, pseudo-inverse, rank, condition."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int64

from ...matrices import (
    definite,
    each,
    inverse,
    pseudo_inverse,
    regular,
    singular_spectrum,
    singular_values,
    symmetrized,
)
from ...sample import ErrorCase, Sample, as_int64, as_real, same

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)


def pairs(U, S, Vh):
    """S, and u v^H for each singular value, (*, k, m, n): what of singular vectors is unique."""
    k = S.shape[-1]
    return S, U[..., :k].mT.unsqueeze(-1) * Vh[..., :k, :].unsqueeze(-2)


def svd(name, shape, dtypes=WIDE, full=True):
    return Sample(
        op="linalg.svd",
        name=name,
        inputs=lambda make: (regular(make, shape),),
        call=lambda op, a: pairs(*op(a, full)),
        reference=each(singular_spectrum),
        dtypes=dtypes,
        result=(as_real, same),
        gradient=True,
        steps=16,
        length=8 * max(shape[-2:]),
        expand=False,
    )


def orthogonal(name, shape, full):
    """Shapes, and that U and V are orthogonal: U^H U and Vh Vh^H are identities."""
    rows, columns = shape[-2:]
    k = min(rows, columns)

    def reference(a):
        return np.eye(rows if full else k), np.eye(columns if full else k), a

    def call(op, a):
        U, S, Vh = op(a, full)
        return U.mH @ U, Vh @ Vh.mH, (U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :]

    return Sample(
        op="linalg.svd",
        name=name,
        inputs=lambda make: (make(shape),),
        call=call,
        reference=reference,
        dtypes=WIDE,
        result=(same, same, same),
        steps=16,
        length=8 * max(rows, columns),
    )


def older_svd(op, a, some=True, compute_uv=True):
    U, S, V = op(a, some, compute_uv)
    return pairs(U, S, V.mH)


def values(name, shape, dtypes=WIDE):
    return Sample(
        op="linalg.svdvals",
        name=name,
        inputs=lambda make: (regular(make, shape),),
        reference=each(singular_values),
        dtypes=dtypes,
        result=as_real,
        gradient=True,
        steps=16,
        length=8 * max(shape[-2:]),
        expand=False,
    )


def pinv(name, shape, dtypes=WIDE, op="linalg.pinv", **options):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (regular(make, shape),),
        kwargs=options,
        reference=lambda a, **options: each(pseudo_inverse)(a),
        dtypes=dtypes,
        gradient=True,
        steps=24,
        length=8 * max(shape[-2:]),
        magnitude=lambda a, **options: 8.0,
        expand=False,
    )


def of_rank(rank, dtype, shape=(3, 4)):
    """A matrix with the singular values 4, 2, 1, as far as *rank* goes."""
    made = np.zeros(shape)
    made[np.arange(rank), np.arange(rank)] = [4.0, 2.0, 1.0][:rank]
    return made.astype(dtype)


def rank(name, expected, inputs, dtypes=(float64,), **options):
    return Sample(
        op="linalg.matrix_rank",
        name=name,
        inputs=inputs,
        kwargs=options,
        reference=lambda *given, **options: np.array(expected),
        dtypes=dtypes,
        result=as_int64,
        expand=False,
    )


def cond(p):
    def norm(a):
        if p == "fro":
            return np.sqrt(np.sum(np.abs(a) ** 2))
        if p == "nuc":
            return np.sum(singular_values(a))
        if p in (2, -2):
            return singular_values(a)[0 if p > 0 else -1]
        return (np.max if p > 0 else np.min)(np.abs(a).sum(0 if abs(p) == 1 else 1))

    def reference(a, p):
        if p is None:
            falling = singular_values(a)
            return falling[0] / falling[-1]
        return norm(a) * norm(inverse(a))

    shape = (3, 2) if p is None else (3, 3)
    return Sample(
        op="linalg.cond",
        name=f"p {p}",
        inputs=lambda make: (regular(make, shape),),
        kwargs={"p": p},
        reference=reference,
        dtypes=(float32, *WIDE) if p in (None, 1) else WIDE if p in (-2, "nuc") else (float64,),
        result=as_real,
        gradient=True,
        steps=24,
        length=24,
        expand=False,
    )


SAMPLES = [
    svd("matrix", (3, 3), ALL),
    svd("tall", (4, 2)),
    svd("wide, reduced", (2, 3), full=False),
    svd("batch", (2, 2, 3), full=False),
    orthogonal("orthogonal, tall", (5, 3), True),
    orthogonal("orthogonal, wide", (3, 5), True),
    orthogonal("orthogonal, reduced", (5, 3), False),
    Sample(
        op="svd",
        inputs=lambda make: (regular(make, (3, 2)),),
        call=older_svd,
        reference=each(singular_spectrum),
        dtypes=WIDE,
        result=(as_real, same),
        gradient=True,
        steps=16,
        length=24,
        expand=False,
    ),
    Sample(
        op="svd",
        name="values only",
        inputs=lambda make: (regular(make, (3, 2)),),
        kwargs={"compute_uv": False},
        reference=lambda a, compute_uv: (
            np.zeros((3, 3), a.dtype),
            singular_values(a),
            np.zeros((2, 2), a.dtype),
        ),
        dtypes=(float64,),
        result=(same, as_real, same),
        steps=16,
        length=24,
        expand=False,
    ),
    values("matrix", (3, 3), ALL),
    values("batch, wide", (2, 2, 3)),
    values("no rows", (0, 3), (float64,)),
    pinv("tall", (4, 2), ALL),
    pinv("wide, batch", (2, 2, 3)),
    pinv("square, atol", (3, 3), atol=1e-3, rtol=0.0),
    pinv("no rows", (0, 3), (float64,)),
    pinv("", (3, 2), op="pinverse"),
    Sample(
        op="linalg.pinv",
        name="hermitian",
        inputs=lambda make: (definite(make, (3, 3)),),
        call=lambda op, a: op(symmetrized(a), hermitian=True),
        reference=lambda a: inverse(symmetrized(a)),
        dtypes=WIDE,
        gradient=True,
        steps=24,
        length=24,
        expand=False,
    ),
    Sample(
        op="linalg.pinv",
        name="a cut",
        inputs=lambda make: (np.diag([4.0, 1.0, 0.25]).astype(make(()).dtype),),
        kwargs={"rtol": 0.1},
        reference=lambda a, rtol: np.diag([0.25, 1.0, 0.0]),
        dtypes=(float32, float64),
        steps=8,
        length=4,
        expand=False,
    ),
    rank("deficient", 2, lambda make: (of_rank(2, make(()).dtype),), (float32, complex128)),
    rank("tol", 1, lambda make: (of_rank(3, make(()).dtype), 2.5)),
    rank("rtol", 2, lambda make: (of_rank(3, make(()).dtype),), rtol=0.3),
    rank("atol", 1, lambda make: (of_rank(3, make(()).dtype),), atol=2.5),
    rank("atol 0", 3, lambda make: (of_rank(3, make(()).dtype),), atol=0),
    rank("batch", [0, 3], lambda make: (np.stack([of_rank(0, make(()).dtype), of_rank(3, make(()).dtype)]),)),
    rank("hermitian", 2, lambda make: (np.diag([1.0, -2.0, 0.0]).astype(make(()).dtype),), hermitian=True),
    rank("no rows", 0, lambda make: (make((0, 3)),)),
    *[cond(p) for p in (None, 2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc")],
    Sample(
        op="linalg.cond",
        name="singular",
        inputs=lambda make: (np.stack([np.eye(2), np.zeros((2, 2))]).astype(make(()).dtype), 1),
        reference=lambda a, p: np.array([1.0, np.inf]),
        dtypes=(float32, complex64),
        result=as_real,
        expand=False,
    ),
]

ERRORS = [
    *[
        case
        for op in ("linalg.svd", "linalg.svdvals", "linalg.pinv", "linalg.matrix_rank", "linalg.cond")
        for case in (
            ErrorCase(
                op=op,
                name="a vector",
                call=lambda op, tensor: op(tensor(3)),
                raises=RuntimeError,
                match=r"fewer than two dimensions\n.*A ",
            ),
            ErrorCase(
                op=op,
                name="integers",
                call=lambda op, tensor: op(tensor(2, 2, dtype=int64)),
                raises=RuntimeError,
                match=r"A is int64",
            ),
        )
    ],
    *[
        ErrorCase(
            op=op,
            name="nan",
            call=lambda op, tensor: op(tensor(2, 2) / 0),
            raises=RuntimeError,
            match=r"did not converge.*not finite",
        )
        for op in ("linalg.svd", "linalg.svdvals")
    ],
    ErrorCase(
        op="linalg.svd",
        name="driver",
        call=lambda op, tensor: op(tensor(2, 2), driver="gesvd"),
        raises=RuntimeError,
        match=r"driver is 'gesvd'",
    ),
    ErrorCase(op="svd", name="a vector", call=lambda op, tensor: op(tensor(3)), raises=RuntimeError, match=r"input "),
    ErrorCase(
        op="pinverse", name="a vector", call=lambda op, tensor: op(tensor(3)), raises=RuntimeError, match=r"input "
    ),
    ErrorCase(
        op="linalg.pinv",
        name="hermitian, not square",
        call=lambda op, tensor: op(tensor(2, 3), hermitian=True),
        raises=RuntimeError,
        match=r"square",
    ),
    ErrorCase(
        op="linalg.cond",
        name="p",
        call=lambda op, tensor: op(tensor(2, 2), 3),
        raises=RuntimeError,
        match=r"cond: p is 3",
    ),
    ErrorCase(
        op="linalg.cond",
        name="not square",
        call=lambda op, tensor: op(tensor(2, 3), 1),
        raises=RuntimeError,
        match=r"square",
    ),
]
