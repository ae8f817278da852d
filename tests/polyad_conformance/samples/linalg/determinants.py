"""Determinants."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int64

from ...matrices import definite, determinant, each, regular
from ...sample import ErrorCase, Sample, as_real, same

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)

determinants = each(determinant)


def sign_and_log(a):
    value = determinants(a)
    size = np.abs(value)
    return np.where(size == 0, 0, value / np.where(size == 0, 1, size)), np.log(size)


def det(op, name, inputs, dtypes=WIDE):
    return Sample(
        op=op,
        name=name,
        inputs=inputs,
        reference=determinants,
        dtypes=dtypes,
        gradient=True,
        steps=12,
        length=16,
        expand=False,
    )


def slogdet(op, name, shape, dtypes=WIDE):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (regular(make, shape),),
        reference=sign_and_log,
        dtypes=dtypes,
        result=(same, as_real),
        gradient=True,
        steps=12,
        length=16,
        expand=False,
    )


SAMPLES = [
    det("linalg.det", "matrix", lambda make: (regular(make, (3, 3)),), ALL),
    det("linalg.det", "batch", lambda make: (regular(make, (2, 2, 2)),)),
    det("linalg.det", "exchanged rows", lambda make: (regular(make, (3, 3))[::-1].copy(),)),
    det("linalg.det", "no rows", lambda make: (make((2, 0, 0)),)),
    # The gradient is the matrix of cofactors, whatever the rank.
    det("linalg.det", "rank 2 of 3", lambda make: (np.diag([3.0, 1.0, 0.0]).astype(make(()).dtype),)),
    det("linalg.det", "rank 1 of 3", lambda make: (np.ones((3, 3), make(()).dtype),)),
    det("linalg.det", "nearly singular", lambda make: (np.diag([3.0, 1.0, 1e-12]).astype(make(()).dtype),)),
    det("linalg.det", "zeros", lambda make: (np.zeros((2, 2, 2), make(()).dtype),)),
    det("det", "", lambda make: (regular(make, (2, 2)),)),
    slogdet("linalg.slogdet", "matrix", (3, 3), ALL),
    slogdet("linalg.slogdet", "batch", (2, 2, 2)),
    slogdet("slogdet", "", (2, 2)),
    Sample(
        op="linalg.slogdet",
        name="singular",
        inputs=lambda make: (np.zeros((2, 2), make(()).dtype),),
        reference=lambda a: (np.zeros((), a.dtype), np.array(-np.inf)),
        dtypes=ALL,
        result=(same, as_real),
        expand=False,
    ),
    Sample(
        op="logdet",
        name="positive-definite",
        inputs=lambda make: (definite(make, (2, 3, 3)),),
        reference=lambda a: np.log(determinants(a)),
        dtypes=ALL,
        gradient=True,
        steps=12,
        length=16,
        expand=False,
    ),
    Sample(
        op="logdet",
        name="negative and singular",
        inputs=lambda make: (np.array([[[-1.0, 0], [0, 1]], [[0, 0], [0, 1]]], make(()).dtype),),
        reference=lambda a: np.array([np.nan, -np.inf]),
        dtypes=(float32, float64),
        expand=False,
    ),
]

ERRORS = [
    case
    for op, name in (
        ("linalg.det", "A"),
        ("linalg.slogdet", "A"),
        ("det", "input"),
        ("slogdet", "input"),
        ("logdet", "input"),
    )
    for case in (
        ErrorCase(
            op=op,
            name="not square",
            call=lambda op, tensor: op(tensor(2, 3)),
            raises=RuntimeError,
            match=rf"2 by 3\n.*{name} ",
        ),
        ErrorCase(
            op=op,
            name="integers",
            call=lambda op, tensor: op(tensor(2, 2, dtype=int64)),
            raises=RuntimeError,
            match=rf"{name} is int64",
        ),
    )
]
