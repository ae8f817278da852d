"""Logarithms of sums of exponentials."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int64

from ...patterns import reduction
from ...sample import COMPLEX, REAL_FLOATS, ErrorCase, Sample, as_float


def log_sum_exp(x, dim, keepdim=False):
    x = np.asarray(x, np.float64)
    top = np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), 0, top)
    total = np.log(np.sum(np.exp(x - top), axis=dim, keepdims=True)) + top
    return total if keepdim else np.squeeze(total, dim if x.ndim else None)


SAMPLES = [
    Sample(
        op="logsumexp",
        name="complex",
        inputs=lambda make: (make((3, 4), -0.5, 0.5),),
        kwargs={"dim": 1},
        reference=lambda x, dim: np.log(np.sum(np.exp(x), axis=dim)),
        dtypes=COMPLEX,
        gradient=True,
        steps=12,
        length=5,
        magnitude=lambda x, dim: np.full(x.shape[0], 3.0),
    ),
    *reduction("logsumexp", log_sum_exp, dtypes=REAL_FLOATS, gradient=True, steps=6, whole=False, empty=False),
    Sample(
        op="logsumexp",
        name="large, and rows of -inf",
        inputs=lambda make: (
            np.array([[1e4, 1e4], [-1e4, 0], [-np.inf, -np.inf], [-np.inf, 2]]).astype(make(()).dtype),
        ),
        kwargs={"dim": 1},
        reference=log_sum_exp,
        dtypes=REAL_FLOATS,
        steps=4,
        expand=False,
    ),
    Sample(
        op="logsumexp",
        name="integers",
        inputs=lambda make: (make((3, 4)),),
        kwargs={"dim": 0},
        reference=log_sum_exp,
        dtypes=(int64,),
        result=as_float,
        steps=6,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), dim=-3),
            raises=IndexError,
            match=r"dim -3 is out of range \[-2, 1\]",
        )
        for op in ("logsumexp",)
    ],
]
