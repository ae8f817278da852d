"""Logarithms of gamma distributed numbers: their moments, and their derivative."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np

from polyad.base.dtypes import float64
from polyad.interop.numpy import numpy_dtype
from polyad.random import Generator

from ...precise import precise
from ...sample import ErrorCase, OnlyShape, Sample
from .sampling import source as repeating


def source():
    return Generator().manual_seed(7)


def distributed(shape):
    """Asserts that the mean and the mean square are where those of so many draws are but for one time in a million."""
    mean, variance, fourth = (float(mpmath.polygamma(n, shape)) for n in (0, 1, 3))

    def holds(out, *inputs, **kwargs):
        rest = out.astype(np.float64) - mean
        assert abs(rest.mean()) < 5 * np.sqrt(variance / out.size)
        assert abs((rest**2).mean() - variance) < 5 * np.sqrt((fourth + 2 * variance**2) / out.size)

    return holds


@precise
def slope(a, drawn):
    """The derivative of log(X) at a fixed probability, by differences of the distribution function."""
    x = mpmath.exp(drawn)
    limits, side = ((0, x), -1) if x < a else ((x, mpmath.inf), 1)
    rising = mpmath.diff(lambda shape: mpmath.gammainc(shape, *limits, regularized=True), a)
    return side * rising / mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a))


def around(make):
    """Shape parameters, and what is drawn of them now and then."""
    a = np.array([[0.05], [0.7], [1.0], [3.0], [40.0]])
    x = np.array([[0.02, 0.5], [0.2, 2.5], [0.3, 3.0], [1.0, 6.0], [33.0, 52.0]])
    return a.astype(numpy_dtype(make.dtype)), np.log(x).astype(numpy_dtype(make.dtype))


AT = np.array([0.3, 0.8, 1.0, 2.5, 20.0])
DRAWN = np.array([-3.84286108688088, -0.5257847091446777, -2.1306566892470875, 0.19509834134061776, 2.998385930273471])
"""What is drawn of these shape parameters, on every device: the bits are core's contract."""


@cache
def slopes_at():
    """The derivatives there."""
    return slope(AT, DRAWN)


def following(a, generator):
    """What is drawn of shape parameters near AT, to first order."""
    return DRAWN + slopes_at() * (a - AT)


SAMPLES = [
    *(
        Sample(
            op="_log_gamma",
            name=f"shape parameter {shape}",
            inputs=lambda make, shape=shape: (np.full((40, 50), shape).astype(numpy_dtype(make.dtype)),),
            reference=lambda a, generator: OnlyShape(a.shape),
            kwargs={"generator": source()},
            holds=distributed(shape),
            dtypes=(float64,),
        )
        for shape in (0.4, 1.0, 30.0)
    ),
    Sample(
        op="_log_gamma",
        name="no elements",
        inputs=lambda make: (make((0, 3), 1, 2),),
        reference=lambda a, generator: a,
        kwargs={"generator": source()},
        dtypes=(float64,),
    ),
    Sample(
        op="_log_gamma",
        name="gradient",
        inputs=lambda make: (AT.astype(numpy_dtype(make.dtype)),),
        reference=following,
        kwargs={"generator": repeating()},
        dtypes=(float64,),
        gradient=True,
        second_gradient=False,
        steps=500,
        expand=False,
    ),
    Sample(
        op="_log_gamma_slope",
        inputs=around,
        reference=slope,
        dtypes=(float64,),
        steps=500,
        expand=False,
    ),
]

ERRORS: list[ErrorCase] = []
