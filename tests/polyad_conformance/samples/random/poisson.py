"""Counts of random events: where only one outcome is possible, and how the others are distributed."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64
from polyad.interop.numpy import numpy_dtype
from polyad.random import Generator

from ...sample import REAL_FLOATS, ErrorCase, OnlyShape, Sample
from .sampling import source as repeating


def source():
    return Generator().manual_seed(7)


def near(mean, deviation):
    """Asserts that the numbers' mean is where that of so many draws is but for one time in a million."""

    def holds(out, *inputs, **kwargs):
        assert np.all(out == np.floor(out))
        assert np.all(out >= 0)
        assert abs(out.mean() - mean) < 5 * deviation / np.sqrt(out.size)

    return holds


SAMPLES = [
    Sample(
        op="poisson",
        name="means of 0",
        inputs=lambda make: (make((3, 4), 0, 0),),
        reference=lambda x, generator: np.zeros(x.shape),
        kwargs={"generator": repeating()},
        dtypes=REAL_FLOATS,
        gradient=True,
        second_gradient=False,
    ),
    Sample(
        op="poisson",
        name="no elements",
        inputs=lambda make: (make((0, 3), 0, 1),),
        reference=lambda x, generator: x,
        kwargs={"generator": repeating()},
        dtypes=(float32,),
    ),
    *(
        Sample(
            op="poisson",
            name=f"mean {mean}",
            inputs=lambda make, mean=mean: (np.full((40, 50), mean).astype(numpy_dtype(make.dtype)),),
            reference=lambda x, generator: OnlyShape(x.shape),
            kwargs={"generator": source()},
            holds=near(mean, mean**0.5),
            dtypes=(float32, float64),
        )
        for mean in (0.5, 8, 30, 2000)
    ),
    Sample(
        op="binomial",
        name="certain",
        inputs=lambda make: (
            np.array([[3.0], [50.0]]).astype(numpy_dtype(make.dtype)),
            np.array([0.0, 1.0, 1.0]).astype(numpy_dtype(make.dtype)),
        ),
        # Counts do not follow small changes: the gradient is 0.
        reference=lambda count, prob, generator: np.where(prob > 0.5, np.rint(count), 0),
        kwargs={"generator": repeating()},
        dtypes=REAL_FLOATS,
        gradient=True,
        second_gradient=False,
        expand=False,
    ),
    *(
        Sample(
            op="binomial",
            name=f"{count} trials of {prob}",
            inputs=lambda make, count=count, prob=prob: (
                np.full((40, 50), count).astype(numpy_dtype(make.dtype)),
                np.full((), prob).astype(numpy_dtype(make.dtype)),
            ),
            reference=lambda n, p, generator: OnlyShape(n.shape),
            kwargs={"generator": source()},
            holds=near(count * prob, (count * prob * (1 - prob)) ** 0.5),
            dtypes=(float32, float64),
        )
        for count, prob in ((9, 0.25), (100, 0.75), (4000, 0.5))
    ),
]

ERRORS = [
    ErrorCase(
        op="poisson",
        name="negative mean",
        call=lambda op, tensor: op(-tensor(3).abs() - 1),
        raises=RuntimeError,
        match=r"poisson: means must be 0 or more\n.*input",
    ),
    ErrorCase(
        op="binomial",
        name="probability above 1",
        call=lambda op, tensor: op(tensor(3).abs(), tensor(3).abs() + 2),
        raises=RuntimeError,
        match=r"binomial: probabilities must be in \[0, 1\]\n.*prob",
    ),
    ErrorCase(
        op="binomial",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(3).abs(), tensor(3, dtype=float64)),
        raises=RuntimeError,
        match=r"binomial: count and prob differ in dtype",
    ),
]
