"""Smooth activations."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import bool_, complex64, float32, float64, int64

from ....sample import COMPLEX, FLOATS, INTEGERS, REAL_FLOATS, ErrorCase, Sample, as_float
from . import anywhere, functional, refused


def normal_distribution(x):
    return np.vectorize(lambda one: 0.5 * math.erfc(-one / math.sqrt(2)), otypes=[np.float64])(x)


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * normal_distribution(x)


def silu(x):
    return x / (1 + np.exp(-x))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def mish(x):
    return x * np.tanh(np.logaddexp(0, x))


def glu(x, dim=-1):
    first, second = np.split(x, 2, dim)
    return first / (1 + np.exp(-second))


def size(x, *rest, **kwargs):
    return np.abs(x)


SAMPLES = [
    *functional("gelu", gelu, anywhere, steps=8, magnitude=size),
    Sample(
        op="nn.functional.gelu",
        name="many elements",
        inputs=lambda make: (make((3, 3001), -6, 6),),
        reference=gelu,
        magnitude=size,
        dtypes=(float32, float64),
        steps=8,
    ),
    Sample(
        op="nn.functional.gelu",
        name="far below zero",
        inputs=lambda make: (make((9,), -5, -2),),
        reference=gelu,
        dtypes=(float32,),
        steps=60,
    ),
    *[
        Sample(
            op="nn.functional.gelu",
            name=f"tanh, {name}",
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"approximate": "tanh"},
            reference=gelu,
            magnitude=size,
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=10,
        )
        for name, shape in (("2-d", (3, 4)), ("1-d", (37,)), ("0-d", ()), ("empty", (0, 3)))
    ],
    *functional("silu", silu, anywhere, steps=8),
    Sample(
        op="nn.functional.silu",
        name="complex",
        inputs=lambda make: (make((3, 4)),),
        reference=silu,
        dtypes=COMPLEX,
        gradient=True,
        steps=12,
        magnitude=lambda x: 1 + np.abs(x),
    ),
    *functional("softplus", softplus, anywhere, steps=6),
    *functional(
        "softplus", softplus, anywhere, 2.0, 1.5, prefix="beta and threshold, ", shapes={"2-d": (3, 4)}, steps=6
    ),
    *functional("logsigmoid", lambda x: -np.logaddexp(0, -x), anywhere, steps=6),
    *functional("mish", mish, anywhere, steps=12, magnitude=size),
    Sample(
        op="nn.functional.mish",
        name="far out",
        inputs=lambda make: (make((3, 31), -90, 90),),
        reference=mish,
        dtypes=(float32, float64),
        steps=12,
        magnitude=size,
        gradient=True,
    ),
    *functional(
        "softsign", lambda x: x / (1 + np.abs(x)), lambda make, shape: make.nonzero(shape), steps=4, dtypes=FLOATS
    ),
    Sample(
        op="nn.functional.softsign",
        name="integers",
        inputs=lambda make: (make((9,)),),
        reference=lambda x: x / (1 + np.abs(x)),
        dtypes=INTEGERS,
        result=as_float,
        steps=4,
    ),
    *functional("tanhshrink", lambda x: x - np.tanh(x), anywhere, steps=4, magnitude=size),
    Sample(
        op="nn.functional.tanhshrink",
        name="integers",
        inputs=lambda make: (make((9,)),),
        reference=lambda x: x - np.tanh(x),
        dtypes=INTEGERS,
        result=as_float,
        steps=4,
        magnitude=size,
    ),
    *[
        Sample(
            op="nn.functional.glu",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs=kwargs,
            reference=glu,
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=6,
        )
        for name, shape, kwargs in (
            ("last dim", (3, 6), {}),
            ("first dim", (4, 3), {"dim": 0}),
            ("nothing", (0, 4), {}),
            ("no halves", (3, 0), {}),
        )
    ],
]

ERRORS = [
    *[
        refused(name, "integers", lambda op, tensor: op(tensor(3, dtype=int64)), RuntimeError, ".*int64")
        for name in ("gelu", "silu", "softplus", "mish")
    ],
    ErrorCase(
        op="nn.functional.logsigmoid",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64)),
        raises=RuntimeError,
        match="log_sigmoid: .*int64",
    ),
    *[
        refused(name, "complex", lambda op, tensor: op(tensor(3, dtype=complex64)), RuntimeError, "complex")
        for name in ("gelu", "mish")
    ],
    *[
        ErrorCase(
            op=f"nn.functional.{name}",
            name="bool",
            call=lambda op, tensor: op(tensor(3, dtype=bool_)),
            raises=RuntimeError,
            match="bool",
        )
        for name in ("softsign", "tanhshrink")
    ],
    refused(
        "gelu",
        "approximate",
        lambda op, tensor: op(tensor(3), approximate="fast"),
        RuntimeError,
        r"approximate is 'fast'\n.*input",
    ),
    refused("glu", "odd", lambda op, tensor: op(tensor(2, 3)), RuntimeError, r"dimension 1 of size 3 has no halves"),
    refused("glu", "0-d", lambda op, tensor: op(tensor()), RuntimeError, "dimension 0 of size 1 has no halves"),
    refused("glu", "dim", lambda op, tensor: op(tensor(2, 4), 2), IndexError, "dim 2 is out of range"),
    refused("glu", "integers", lambda op, tensor: op(tensor(4, dtype=int64)), RuntimeError, ".*int64"),
]
