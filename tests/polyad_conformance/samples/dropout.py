"""Dropout: with a generator that gives the same words at each draw, it is a product with a known mask."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import bool_, int64

from ..sample import FLOATS, ErrorCase, Sample, always, same
from .random import chances, source


def dropped(x, p, generator):
    kept = chances(x.shape, 1 - p, generator)
    return np.where(kept, x / (1 - p), 0 * x), kept


SAMPLES = [
    Sample(
        op="_dropout",
        name=f"p = {p}",
        inputs=lambda make, p=p: (make((5, 7)), p, source()),
        reference=dropped,
        dtypes=FLOATS,
        result=(same, always(bool_)),
        gradient=(0,),
        steps=3,
    )
    for p in (0.0, 0.25, 0.9)
] + [
    Sample(
        op="dropout",
        name="not in training",
        inputs=lambda make: (make((3, 4)), 0.5, False),
        reference=lambda x, p, training: x,
        gradient=(0,),
        aliasing="view",
    ),
    Sample(
        op="dropout",
        name="certain",
        inputs=lambda make: (make((3, 4)), 1.0),
        reference=lambda x, p: 0 * x,
        gradient=(0,),
        steps=1,
    ),
]

ERRORS = [
    ErrorCase(
        op="dropout",
        name="p",
        call=lambda op, tensor: op(tensor(3), 1.5),
        raises=ValueError,
        match=r"dropout: p 1\.5 is not in \[0, 1\]\n.*input",
    ),
    ErrorCase(
        op="dropout",
        name="p of a string",
        call=lambda op, tensor: op(tensor(3), "0.5"),
        raises=TypeError,
        match=r"dropout: p is '0\.5'",
    ),
    ErrorCase(
        op="dropout",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"dropout: input is int64",
    ),
]
