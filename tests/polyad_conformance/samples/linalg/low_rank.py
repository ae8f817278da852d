"""Factors of matrices that are nearly of low rank: of such as are exactly, they are exact."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64

from ...sample import ErrorCase, OnlyShape, Sample, as_real, same


def low(make, shape, rank=2):
    """Matrices of rank *rank* whose singular values lie apart."""
    values = make(shape)
    u, s, vh = np.linalg.svd(values, full_matrices=False)
    s = np.where(np.arange(s.shape[-1]) < rank, 3.0 - np.arange(s.shape[-1]), 0)
    return ((u * s[..., None, :]) @ vh).astype(values.dtype)


def makes(wanted):
    """That the factors make the matrix that *wanted* gives of the inputs, and that U and V have orthonormal columns."""

    def holds(U, S, V, *given):
        eps = 2e-5 if U.dtype.itemsize // (1 + (U.dtype.kind == "c")) == 4 else 2e-13
        np.testing.assert_allclose(
            (U * S[..., None, :]) @ np.conj(np.swapaxes(V, -1, -2)), wanted(*given), atol=8 * eps
        )
        for factor in (U, V):
            product = np.conj(np.swapaxes(factor, -1, -2)) @ factor
            np.testing.assert_allclose(product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), atol=8 * eps)

    return holds


def shapes(x, q, *rest):
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    q = min(q, m, n)
    return OnlyShape((*lead, m, q)), OnlyShape((*lead, q)), OnlyShape((*lead, n, q))


def centred(x, q, center=True):
    x = x - x.mean(-2, keepdims=True) if center else x
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u[..., :q] * s[..., None, :q]) @ vh[..., :q, :]


DTYPES = (float32, float64, complex64, complex128)

SAMPLES = [
    *[
        Sample(
            op="svd_lowrank",
            name=name,
            inputs=lambda make, shape=shape: (low(make, shape), 3),
            reference=shapes,
            holds=makes(lambda x, q: x),
            dtypes=DTYPES,
            result=(same, as_real, same),
            layouts=False,
            expand=False,
        )
        for name, shape in (("tall", (7, 4)), ("wide", (3, 6)), ("batch", (2, 5, 5)))
    ],
    Sample(
        op="svd_lowrank",
        name="less another",
        inputs=lambda make: (low(make, (6, 4)), 3, 1, low(make, (6, 4), 1)),
        reference=shapes,
        holds=makes(lambda x, q, niter, m: x - m),
        dtypes=DTYPES,
        result=(same, as_real, same),
        layouts=False,
        expand=False,
    ),
    Sample(
        op="pca_lowrank",
        inputs=lambda make: (make((6, 4)), 4),
        reference=shapes,
        holds=makes(centred),
        dtypes=(float32, float64),
        result=(same, as_real, same),
        layouts=False,
        expand=False,
    ),
    Sample(
        op="pca_lowrank",
        name="as they are",
        inputs=lambda make: (make((4, 5)), 4, False),
        reference=shapes,
        holds=makes(centred),
        dtypes=(float32, float64),
        result=(same, as_real, same),
        layouts=False,
        expand=False,
    ),
]

ERRORS = [
    ErrorCase(
        op="pca_lowrank",
        name="more than there are",
        call=lambda op, tensor: op(tensor(3, 4), 4),
        raises=ValueError,
        match=r"pca_lowrank: q is 4, and A has 3 components\n.*A",
    ),
    ErrorCase(
        op="svd_lowrank",
        name="a negative number",
        call=lambda op, tensor: op(tensor(3, 4), -1),
        raises=RuntimeError,
        match=r"svd_lowrank: q is -1\n.*A",
    ),
]
