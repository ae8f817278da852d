"""Greatest common divisors and least common multiples."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import bool_, float32, int8, int64

from ...patterns import binary
from ...sample import INTEGERS, ErrorCase, Sample


def wrapped(function):
    """*function* of Python's integers, its results in int64."""
    return np.vectorize(lambda a, b: (function(a, b) + 2**63) % 2**64 - 2**63, otypes=[np.int64])


gcd = wrapped(lambda a, b: math.gcd(int(a), int(b)))
lcm = wrapped(lambda a, b: math.lcm(int(a), int(b)))


def small(make, shape):
    return make(shape, -9, 9)  # their least common multiples fit into int8


SAMPLES = [
    *binary("gcd", gcd, draw=small, dtypes=INTEGERS, number=None),
    *binary("lcm", lcm, draw=small, dtypes=INTEGERS, number=None),
    Sample(
        op="gcd",
        name="neighbouring Fibonacci numbers",
        inputs=lambda make: (np.array([7540113804746346429, 89]), np.array([4660046610375530309, 55])),
        reference=gcd,
        dtypes=(int64,),
    ),
    Sample(
        op="gcd",
        name="the smallest numbers",
        inputs=lambda make: (np.array([-128, -128, 0], np.int8), np.array([96, -1, -128], np.int8)),
        reference=gcd,
        dtypes=(int8,),
    ),
]

ERRORS = [
    ErrorCase(
        op=op,
        name=dtype.name,
        call=lambda op, tensor, dtype=dtype: op(tensor(3, dtype=dtype), tensor(3, dtype=dtype)),
        raises=NotImplementedError,
        match=rf"{op}: operands are {dtype.name}",
    )
    for op in ("gcd", "lcm")
    for dtype in (float32, bool_)
] + [
    ErrorCase(
        op=op,
        name="a number",
        call=lambda op, tensor: op(tensor(3, dtype=int64), 2),
        raises=TypeError,
        match=rf"{op}: other is int",
    )
    for op in ("gcd", "lcm")
]
