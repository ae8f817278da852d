"""Softmax, its logarithm, and draws from it."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64, int64

from ....sample import REAL_FLOATS, ErrorCase, OnlyShape, Sample, always
from . import refused


def largest(x, dim):
    return np.max(x.astype(np.float64), axis=dim, keepdims=True, initial=-np.inf)


def softmax(x, dim, dtype=None):
    if not x.ndim:
        return np.where(np.isfinite(x), 1.0, np.nan)
    powers = np.exp(x - largest(x, dim))
    return powers / powers.sum(axis=dim, keepdims=True)


def log_softmax(x, dim, dtype=None):
    if not x.ndim:
        return np.where(np.isfinite(x), 0.0, np.nan)
    shifted = x - largest(x, dim)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def along(op, reference, steps, magnitude=None):
    shapes = (
        ("last dim", (3, 5), -1),
        ("first dim", (4, 3), 0),
        ("middle dim", (2, 5, 3), 1),
        ("0-d", (), 0),
        ("one element", (3, 1), 1),
        ("no rows", (0, 3), 1),
        ("rows of nothing", (3, 0), 1),
        ("long", (2, 143), 1),
    )
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"dim": dim},
            reference=reference,
            magnitude=magnitude,
            dtypes=REAL_FLOATS,
            gradient=bool(shape),
            special=name == "last dim",
            steps=steps,
            length=8,
        )
        for name, shape, dim in shapes
    ]


def one_or_size(x, *rest, **kwargs):
    return np.maximum(1, np.abs(x))


SAMPLES = [
    *along("softmax", softmax, 10),
    *along("log_softmax", log_softmax, 10, one_or_size),
    *along("nn.functional.softmin", lambda x, dim: softmax(-x, dim), 10),
    *[
        Sample(
            op=op,
            name="dtype",
            inputs=lambda make: (make((3, 4)),),
            kwargs={"dim": 1, "dtype": float64},
            reference=reference,
            dtypes=(int64, float32),
            result=always(float64),
            steps=10,
            magnitude=one_or_size,
        )
        for op, reference in (("softmax", softmax), ("log_softmax", log_softmax))
    ],
    *[
        Sample(
            op=op,
            name="far out",
            inputs=lambda make: (make((3, 4), 500, 1000),),
            kwargs={"dim": 1},
            reference=reference,
            magnitude=one_or_size,
            dtypes=(float32, float64),
            gradient=True,
            steps=10,
        )
        for op, reference in (("softmax", softmax), ("log_softmax", log_softmax))
    ],
    Sample(
        op="nn.functional.gumbel_softmax",
        inputs=lambda make: (make((3, 5)),),
        kwargs={"tau": 0.5},
        reference=lambda x, tau: OnlyShape(x.shape),
        dtypes=REAL_FLOATS,
        holds=lambda result, x, **kwargs: np.testing.assert_allclose(result.astype(float).sum(-1), 1, atol=0.02),
    ),
    Sample(
        op="nn.functional.gumbel_softmax",
        name="hard",
        inputs=lambda make: (make((3, 5)),),
        kwargs={"hard": True, "dim": 0},
        reference=lambda x, **kwargs: OnlyShape(x.shape),
        dtypes=REAL_FLOATS,
        holds=lambda result, x, **kwargs: np.testing.assert_allclose(
            np.sort(result.astype(float), 0), [[0] * 5, [0] * 5, [1] * 5], atol=0.02
        ),
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), 2),
            raises=IndexError,
            match=r"softm\w+: dim 2 is out of range",
        )
        for name in ("softmax", "log_softmax", "nn.functional.softmin")
    ],
    *[
        ErrorCase(
            op=name,
            name="integers",
            call=lambda op, tensor: op(tensor(3, dtype=int64), 0),
            raises=RuntimeError,
            match=rf"{name}: .*int64",
        )
        for name in ("softmax", "log_softmax")
    ],
    ErrorCase(
        op="softmax",
        name="a list",
        call=lambda op, tensor: op([1.0], 0),
        raises=TypeError,
        match=r"softmax: input is list",
    ),
    refused("gumbel_softmax", "integers", lambda op, tensor: op(tensor(3, dtype=int64)), RuntimeError, ".*int64"),
    refused("gumbel_softmax", "dim", lambda op, tensor: op(tensor(3), dim=1), IndexError, "dim 1 is out of range"),
]
