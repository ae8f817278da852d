"""Exponentials, logarithms and the logistic function."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, float32, float64, int64

from ...patterns import binary, unary
from ...sample import COMPLEX, EVERYTHING, NUMBERS, REAL, REAL_FLOATS, ErrorCase, Sample, as_float


def positive(make, shape):
    return make.positive(shape)


def inside(make, shape):
    """Between 0.1 and 0.9; 1 for integers."""
    return make(shape, 0.1, 0.9) if make.dtype in REAL_FLOATS else make.positive(shape, 1, 1)


def of_numbers(reference):
    """NumPy's functions of bool compute in float16."""
    return lambda x: reference(x.astype(np.int64) if x.dtype == bool else x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logit(x, eps=None):
    if eps is not None:
        x = np.minimum(np.maximum(x, eps), 1 - eps)
    return np.log(x / (1 - x))


def log1p_by_parts(z):
    z = z.astype(complex)
    small = abs(z) < 2
    with np.errstate(over="ignore"):
        near = np.log1p(np.where(small, z.real * (z.real + 2) + z.imag**2, 0)) / 2
    return np.where(small & (near > -0.3), near, np.log(abs(1 + z))) + 1j * np.arctan2(z.imag, 1 + z.real)


def logaddexp(a, b):
    larger, smaller = np.maximum(a, b), np.minimum(a, b)
    return np.where(np.isinf(larger) & (a == b), larger, larger + np.log1p(np.exp(smaller - larger)))


def logaddexp2(a, b):
    larger, smaller = np.maximum(a, b), np.minimum(a, b)
    return np.where(np.isinf(larger) & (a == b), larger, larger + np.log2(1 + 2 ** (smaller - larger)))


def xlogy(a, b):
    return np.where((a == 0) & ~np.isnan(b), 0.0, a * np.log(b))


def near_logarithms(x, *rest, **kwargs):
    """A logarithm is conditioned badly where it is near 0: its error is relative to 1 there, not to its value."""
    return np.maximum(1, np.abs(np.log(np.where(x == 0, 1, x))))


SAMPLES = [
    *unary("exp", of_numbers(np.exp), dtypes=EVERYTHING, result=as_float, gradient=True, steps=4),
    *unary("expm1", of_numbers(np.expm1), dtypes=EVERYTHING, result=as_float, gradient=True, steps=4),
    *unary("exp2", np.exp2, dtypes=NUMBERS, result=as_float, gradient=True, steps=4),
    *unary(
        "log", np.log, draw=positive, dtypes=NUMBERS, result=as_float, gradient=True, steps=4, magnitude=near_logarithms
    ),
    *unary(
        "log1p",
        lambda x: log1p_by_parts(x) if np.iscomplexobj(x) else np.log1p(x),
        draw=positive,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=4,
    ),
    *unary(
        "log2",
        np.log2,
        draw=positive,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=5,
        magnitude=near_logarithms,
    ),
    *unary(
        "log10",
        np.log10,
        draw=positive,
        dtypes=NUMBERS,
        result=as_float,
        gradient=True,
        steps=5,
        magnitude=near_logarithms,
    ),
    *unary("sigmoid", of_numbers(sigmoid), dtypes=EVERYTHING, result=as_float, gradient=True, steps=6),
    Sample(
        op="expm1",
        name="near 0",
        inputs=lambda make: (make((9,), -1e-4, 1e-4),),
        reference=np.expm1,
        dtypes=REAL_FLOATS,
        steps=3,
    ),
    Sample(
        op="log1p",
        name="near 0",
        inputs=lambda make: (make((9,), -1e-4, 1e-4),),
        reference=np.log1p,
        dtypes=REAL_FLOATS,
        steps=3,
    ),
    *[
        Sample(
            op="log1p",
            name=name,
            inputs=lambda make, values=values: (np.array(values).astype(make(()).dtype),),
            reference=log1p_by_parts,
            dtypes=COMPLEX,
            steps=4,
            # A part that is small beside the other has its digits, too.
            holds=lambda result, z: np.testing.assert_allclose(result.real, log1p_by_parts(z).real, rtol=1e-6),
        )
        for name, values in (
            ("complex, near 0", [1e-19 + 1e-18j, -1e-10 + 1e-8j, 1e-3 + 1e-4j, 1e-8 - 1j]),
            ("complex, far out", [3e38 + 3e38j, -3e38 + 1j, 1e30 - 1e-5j, -1 + 1e-20j]),
        )
    ],
    Sample(
        op="sigmoid",
        name="far out",
        inputs=lambda make: (make((9,), -80, 80),),
        reference=sigmoid,
        dtypes=(float32, float64),
        steps=40,
    ),
    *unary(
        "logit",
        logit,
        draw=inside,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=8,
        magnitude=lambda x: np.maximum(1, np.abs(logit(x))),
    ),
    Sample(
        op="logit",
        name="eps",
        inputs=lambda make: (make((3, 4), -0.5, 1.5),),
        kwargs={"eps": 0.2},
        reference=logit,
        magnitude=lambda x, eps: np.ones(x.shape) * 2,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=8,
    ),
    *binary(
        "logaddexp",
        logaddexp,
        dtypes=REAL_FLOATS,
        gradient=True,
        number=None,
        steps=8,
        magnitude=lambda a, b: np.maximum(1, np.maximum(np.abs(a), np.abs(b))),
    ),
    Sample(
        op="logaddexp",
        name="complex",
        inputs=lambda make: (make((3, 4)), make((4,))),
        reference=lambda a, b: np.log(np.exp(a) + np.exp(b)),
        dtypes=COMPLEX,
        gradient=True,
        steps=12,
        magnitude=lambda a, b: np.ones((3, 4)) * 4,
    ),
    *binary(
        "logaddexp2",
        logaddexp2,
        dtypes=REAL_FLOATS,
        gradient=True,
        number=None,
        steps=8,
        magnitude=lambda a, b: np.maximum(2, np.maximum(np.abs(a), np.abs(b))),
    ),
    Sample(
        op="logaddexp",
        name="far out",
        inputs=lambda make: (make((9,), 500, 900), make((9,), 500, 900)),
        reference=logaddexp,
        dtypes=(float32, float64),
        gradient=True,
    ),
    *binary(
        "xlogy",
        xlogy,
        draw_other=positive,
        dtypes=REAL,
        result=as_float,
        gradient=True,
        steps=6,
        magnitude=lambda a, b: np.abs(a) * near_logarithms(b),
    ),
    Sample(
        op="xlogy",
        name="zeros",
        inputs=lambda make: (np.zeros(3, make(()).dtype), np.array([0.0, 2.0, np.nan]).astype(make(()).dtype)),
        reference=xlogy,
        dtypes=REAL_FLOATS,
    ),
    Sample(
        op="xlogy",
        name="a number by a tensor",
        inputs=lambda make: (2.0, make.positive((5,))),
        reference=xlogy,
        magnitude=lambda a, b: a * near_logarithms(b),
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=6,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=name, name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=rf"{name}: input is list"
        )
        for name in ("exp", "log", "sigmoid", "logit")
    ],
    *[
        ErrorCase(
            op=name,
            name="shapes that do not broadcast",
            call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
            raises=RuntimeError,
            match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
        )
        for name in ("logaddexp", "logaddexp2", "xlogy")
    ],
    ErrorCase(
        op="logit",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=RuntimeError,
        match=r"logit: complex",
    ),
    ErrorCase(
        op="logit", name="eps", call=lambda op, tensor: op(tensor(3), "0"), raises=TypeError, match=r"logit: eps is str"
    ),
    ErrorCase(
        op="logaddexp",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"logaddexp: .*int64",
    ),
    ErrorCase(
        op="exp",
        name="out of integers",
        call=lambda op, tensor: op(tensor(3), out=tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"out: .*dtype.*\n.*out .*int64",
    ),
]
