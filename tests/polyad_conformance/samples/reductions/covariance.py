"""Covariances and correlations."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex128, float16, float32, float64, int64

from ...sample import ErrorCase, Sample, as_float

FEW = (int64, float16, float32, float64, complex128)
PRECISE = (float64, complex128)


def cov(x, correction=1):
    x = np.atleast_2d(x)
    deviation = x - x.mean(1, keepdims=True)
    # PyTorch conjugates the second factor, as NumPy does.
    return np.squeeze(deviation @ np.conj(deviation.T) / (x.shape[1] - correction))


def corrcoef(x):
    made = cov(x)
    if made.ndim == 0:
        return made / made
    spread = np.sqrt(np.diagonal(made).real)
    return made / spread[:, None] / spread


SAMPLES = [
    *[
        Sample(
            op="cov",
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            kwargs=kwargs,
            reference=cov,
            magnitude=lambda x, **kwargs: np.max(np.abs(x)) ** 2 * 4,
            dtypes=FEW if not kwargs else PRECISE,
            result=as_float,
            gradient=True,
            steps=8,
            length=9,
        )
        for name, shape, kwargs in (
            ("rows", (3, 9), {}),
            ("a vector", (5,), {}),
            ("correction", (2, 4), {"correction": 0}),
        )
    ],
    *[
        Sample(
            op="corrcoef",
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            reference=corrcoef,
            magnitude=lambda x: 4.0,
            dtypes=dtypes,
            result=as_float,
            gradient=gradient,
            steps=16,
            length=9,
        )
        # On the diagonal the limit of [-1, 1] is met, where the gradient is 0 by either side; a vector has only that.
        for name, shape, dtypes, gradient in (("rows", (3, 9), FEW, False), ("a vector", (5,), PRECISE, False))
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="three dimensions",
            call=lambda op, tensor: op(tensor(2, 2, 2)),
            raises=RuntimeError,
            match=rf"{op}: input has 3 dimensions.*\n.*input",
        )
        for op in ("cov", "corrcoef")
    ],
    ErrorCase(
        op="corrcoef",
        name="bool",
        call=lambda op, tensor: op(tensor(2, 2, dtype=bool_)),
        raises=RuntimeError,
        match=r"corrcoef: input is bool",
    ),
    *[
        ErrorCase(
            op="cov",
            name=name,
            call=lambda op, tensor, weights=weights: op(
                tensor(2, 3), **{key: tensor(*shape, dtype=dtype) for key, (shape, dtype) in weights.items()}
            ),
            raises=RuntimeError,
            match=match,
        )
        for name, weights, match in (
            ("float fweights", {"fweights": ((3,), float32)}, r"cov: fweights is float32\n.*input .*\n.*fweights"),
            ("integer aweights", {"aweights": ((3,), int64)}, r"cov: aweights is int64"),
            ("too few weights", {"aweights": ((2,), float32)}, r"cov: aweights has 2 elements for 3 observations"),
            ("a matrix of weights", {"aweights": ((1, 3), float32)}, r"cov: aweights has 2 dimensions"),
        )
    ],
]
