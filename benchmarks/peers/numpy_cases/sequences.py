"""Making tensors, and random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import polyad
from polyad.nn import functional as F

from .arrays import SIDE, Arrays, Case

COUNT = SIDE * SIDE


def cases(arrays: Arrays) -> Iterator[Case]:
    x, unit = arrays.x, arrays.unit
    yield Case("zeros", lambda: polyad.zeros(COUNT), lambda: np.zeros(COUNT, np.float32), ())
    yield Case("ones", lambda: polyad.ones(COUNT), lambda: np.ones(COUNT, np.float32), ())
    yield Case("full_like", lambda a: polyad.full_like(a, 3), lambda a: np.full_like(a, 3), (x,))
    yield Case("arange", lambda: polyad.arange(COUNT), lambda: np.arange(COUNT), ())
    yield Case("arange float", lambda: polyad.arange(0.0, COUNT, 1.0), lambda: np.arange(COUNT, dtype=np.float32), ())
    yield Case("linspace", lambda: polyad.linspace(0, 1, COUNT), lambda: np.linspace(0, 1, COUNT, dtype=np.float32), ())
    yield Case("logspace", lambda: polyad.logspace(0, 1, COUNT), lambda: np.logspace(0, 1, COUNT, dtype=np.float32), ())
    yield Case("eye", lambda: polyad.eye(SIDE), lambda: np.eye(SIDE, dtype=np.float32), ())
    yield Case("hann_window", lambda: polyad.hann_window(COUNT), lambda: np.hanning(COUNT), ())
    yield Case("kaiser_window", lambda: polyad.kaiser_window(COUNT), lambda: np.kaiser(COUNT, 12), ())
    yield Case("tensor of an array", lambda: polyad.tensor(x), lambda: x.copy(), ())

    random = np.random.Generator(np.random.Philox(0))
    yield Case("rand", lambda: polyad.rand(COUNT), lambda: random.random(COUNT, np.float32), ())
    yield Case("randn", lambda: polyad.randn(COUNT), lambda: random.standard_normal(COUNT, np.float32), ())
    yield Case("randint", lambda: polyad.randint(0, 1000, (COUNT,)), lambda: random.integers(0, 1000, COUNT), ())
    yield Case("randperm", lambda: polyad.randperm(COUNT), lambda: random.permutation(COUNT), ())
    yield Case(
        "bernoulli", polyad.bernoulli, lambda p: (random.random(p.shape, np.float32) < p).astype(p.dtype), (unit,)
    )
    yield Case("poisson", lambda p: polyad.poisson(p), lambda p: random.poisson(p), (unit * 4,))
    yield Case("exponential_", lambda a: a.exponential_(), lambda a: random.exponential(1, a.shape), (x.copy(),))
    yield Case(
        "multinomial",
        lambda p: polyad.multinomial(p, 1000, True),
        lambda p: random.choice(len(p), 1000, True, p / p.sum()),
        (unit.ravel().astype(np.float64),),
    )
    yield Case(
        "dropout", lambda a: F.dropout(a, 0.5), lambda a: a * (random.random(a.shape, np.float32) < 0.5) * 2, (x,)
    )
