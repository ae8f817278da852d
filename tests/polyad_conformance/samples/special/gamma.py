"""The logarithm of the gamma function and its derivatives."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from polyad.base.dtypes import bool_, complex64, float32, float64

from ...precise import few, precise, spans
from ...sample import ErrorCase, Sample

POLES = [0.0, *(float(-n) for n in range(1, 12))]

lgamma = precise(lambda x: mpmath.re(mpmath.loggamma(x)), dict.fromkeys(POLES, math.inf) | {-math.inf: math.inf})
_digamma = precise(mpmath.digamma, dict.fromkeys(POLES, math.nan) | {-math.inf: math.nan})


def digamma(x):
    return np.where(x == 0, np.copysign(math.inf, -x), _digamma(x))


DERIVATIVES = {
    n: precise(
        lambda x, n=n: mpmath.polygamma(n, x),
        dict.fromkeys(POLES, math.inf if n % 2 else -math.inf) | {math.inf: 0.0, -math.inf: math.nan},
    )
    for n in (1, 2, 25)
} | {0: digamma}


def polygamma(n, x):
    return DERIVATIVES[n](x)


def mvlgamma(x, p):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(lgamma(x - j / 2) for j in range(p))


def at_least_one(reference):
    """What the errors near a zero are relative to, where the zero is not taken out."""
    return lambda *args, **kwargs: np.maximum(1, np.abs(reference(*args, **kwargs)))


def positive(make, shape):
    return make.positive(shape)


SAMPLES = [
    *few("lgamma", lgamma, draw=positive, gradient=True, steps=10, magnitude=at_least_one(lgamma)),
    *spans(
        "lgamma",
        lgamma,
        20,
        around_1=(0.8, 1.2),
        around_2=(1.8, 2.2),
        to_10=(2.5, 10),
        far_out=(10, 1000),
        negative=(-2.9, -2.1, at_least_one(lgamma)),
    ),
    *few("digamma", digamma, draw=positive, gradient=True, steps=10, magnitude=at_least_one(digamma)),
    *spans(
        "digamma",
        digamma,
        10,
        near_its_zero=(1.4, 1.5, at_least_one(digamma)),
        near_0=(1e-3, 0.1),
        far_out=(8, 1000),
        negative=(-2.9, -2.1, at_least_one(digamma)),
    ),
    *[
        Sample(
            op="polygamma",
            name=f"n = {n}",
            inputs=lambda make, n=n: (n, make.positive((3, 4), 0.5)),
            reference=polygamma,
            dtypes=(float32, float64),
            gradient=(1,) if n < 25 else False,
            steps=12,
            magnitude=at_least_one(polygamma) if n == 0 else None,
            special=n == 1,
        )
        for n in (0, 1, 2, 25)
    ],
    Sample(
        op="polygamma",
        name="negative",
        inputs=lambda make: (1, make((3, 4), -2.9, -2.1)),
        reference=polygamma,
        dtypes=(float32, float64),
        steps=12,
    ),
    Sample(
        op="Tensor.polygamma",
        name="method",
        inputs=lambda make: (make.positive((5,)), 2),
        reference=lambda x, n: polygamma(n, x),
        dtypes=(float32, float64),
        gradient=(0,),
        steps=12,
    ),
    *[
        Sample(
            op="mvlgamma",
            name=f"p = {p}",
            inputs=lambda make, p=p: (make((3, 4), 2, 6), p),
            reference=mvlgamma,
            dtypes=(float32, float64),
            gradient=(0,),
            steps=20,
            magnitude=lambda x, p: p * at_least_one(lgamma)(x),
        )
        for p in (1, 3)
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64)),
            raises=NotImplementedError,
            match=rf"{name}: complex",
        )
        for name in ("lgamma", "digamma")
    ],
    ErrorCase(
        op="polygamma",
        name="a negative order",
        call=lambda op, tensor: op(-1, tensor(3)),
        raises=RuntimeError,
        match=r"polygamma: n is -1.*\n.*input .*\(3,\)",
    ),
    ErrorCase(
        op="polygamma",
        name="a fraction",
        call=lambda op, tensor: op(1.5, tensor(3)),
        raises=TypeError,
        match=r"polygamma: n is float",
    ),
    ErrorCase(
        op="polygamma",
        name="a list for a tensor",
        call=lambda op, tensor: op(1, [1.0]),
        raises=TypeError,
        match=r"polygamma: input is list",
    ),
    ErrorCase(
        op="Tensor.polygamma",
        name="a negative order",
        call=lambda op, tensor: op(tensor(3), -1),
        raises=RuntimeError,
        match=r"polygamma: n is -1",
    ),
    ErrorCase(
        op="mvlgamma",
        name="no dimension",
        call=lambda op, tensor: op(tensor(3), 0),
        raises=RuntimeError,
        match=r"mvlgamma: p is 0.*\n.*input .*\(3,\)",
    ),
    ErrorCase(
        op="mvlgamma",
        name="a fraction",
        call=lambda op, tensor: op(tensor(3), 2.5),
        raises=TypeError,
        match=r"mvlgamma: p is float",
    ),
    ErrorCase(
        op="mvlgamma",
        name="bool",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), 2),
        raises=RuntimeError,
        match=r"mvlgamma: input is bool",
    ),
]
