"""Variance and standard deviation."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64, int64

from ...patterns import reduction
from ...sample import COMPLEX, REAL_FLOATS, ErrorCase, Sample, as_real, same


def variance(x, dim=None, keepdim=False, correction=1):
    x = np.asarray(x)
    count = x.size if dim is None else np.prod([x.shape[d] for d in np.atleast_1d(dim)]) if x.ndim else 1
    centred = x - np.sum(x, axis=dim, keepdims=True) / np.asarray(count)
    with np.errstate(all="ignore"):
        return np.sum(np.abs(centred) ** 2, axis=dim, keepdims=keepdim) / np.float64(max(count - correction, 0))


def deviation(x, dim=None, keepdim=False, correction=1):
    return np.sqrt(variance(x, dim, keepdim, correction))


def largest_square(x, *rest, **kwargs):
    """What the rounding of the centred elements is relative to."""
    return np.max(np.abs(x), initial=0) ** 2


def largest(x, *rest, **kwargs):
    return np.max(np.abs(x), initial=0)


SAMPLES = [
    *[
        sample
        for sample in reduction(
            "var", variance, dtypes=REAL_FLOATS, gradient=True, steps=4, magnitude=largest_square, special=False
        )
        if "0-d" not in sample.name
    ],
    Sample(
        op="var",
        name="far from 0",
        inputs=lambda make: ((100 + make.random.standard_normal((3, 37))).astype(make(()).dtype),),
        kwargs={"dim": 1},
        reference=variance,
        dtypes=(float32, float64),
        expand=False,  # the variance of equal numbers is 0, and that of their rounded mean is not
        steps=6,
        length=37,
    ),
    Sample(op="var", name="of one element", inputs=lambda make: (make(()),), reference=variance, dtypes=REAL_FLOATS),
    *[
        Sample(
            op="var",
            name=f"correction {correction}",
            inputs=lambda make: (make((3, 5)),),
            kwargs={"dim": 1, "correction": correction},
            reference=variance,
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=6,
            length=5,
            magnitude=largest_square,
        )
        for correction in (0, 2, 0.5)
    ],
    Sample(
        op="var",
        name="complex",
        inputs=lambda make: (make((3, 4)),),
        kwargs={"dim": 1},
        reference=variance,
        dtypes=COMPLEX,
        result=as_real,
        gradient=True,
        steps=8,
        length=5,
        magnitude=largest_square,
    ),
    *[
        Sample(
            op="std",
            name=name,
            inputs=lambda make: (make.distinct((3, 5)),),
            kwargs=kwargs,
            reference=deviation,
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=6,
            length=5,
            magnitude=largest,
        )
        for name, kwargs in (
            ("whole", {}),
            ("last dim", {"dim": 1}),
            ("kept", {"dim": 0, "keepdim": True, "correction": 0}),
        )
    ],
    *[
        Sample(
            op=op,
            inputs=lambda make: (make.distinct((3, 5)),),
            kwargs={"dim": 1},
            reference=lambda x, dim, spread=spread: (spread(x, dim), x.mean(dim)),
            dtypes=REAL_FLOATS,
            result=(same, same),
            gradient=True,
            steps=6,
            length=5,
            magnitude=largest_square,
        )
        for op, spread in (("var_mean", variance), ("std_mean", deviation))
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="integers",
            call=lambda op, tensor: op(tensor(3, dtype=int64)),
            raises=RuntimeError,
            match=r"input is int64",
        )
        for op in ("var", "std")
    ],
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), dim=-3),
            raises=IndexError,
            match=r"dim -3 is out of range \[-2, 1\]",
        )
        for op in (
            "var",
            "std",
        )
    ],
    ErrorCase(
        op="var",
        name="unbiased and correction",
        call=lambda op, tensor: op(tensor(3), unbiased=True, correction=1),
        raises=TypeError,
        match=r"var: both unbiased and correction",
    ),
]
