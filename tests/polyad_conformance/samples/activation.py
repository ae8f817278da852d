"""Activation functions and softmax."""

from __future__ import annotations

import math

import numpy as np

from polyad.dtypes import bool_, complex64, float32, float64, int64, uint8

from ..patterns import unary
from ..sample import INTEGERS, REAL, REAL_FLOATS, ErrorCase, Sample, always


def away_from_zero(make, shape):
    return make.nonzero(shape)


def off_the_bounds(make, shape):
    """Odd multiples of 1/8, so that no element lies on a bound where the slope jumps."""
    return np.asarray(make.distinct(shape) + np.asarray(0.125).astype(make(()).dtype))


def relu(x):
    return np.where(np.isnan(x) | (x > 0), x, 0)


def hardtanh(x, min_val=-1.0, max_val=1.0):
    return np.where(x < min_val, min_val, np.where(x > max_val, max_val, x))


def leaky_relu(x, negative_slope=0.01):
    return np.where(x > 0, x, x * negative_slope)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def selu(x):
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


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


def largest(x, dim):
    return np.max(x.astype(np.float64), axis=dim, keepdims=True, initial=-np.inf)


def softmax(x, dim, dtype=None):
    if not x.ndim:
        return np.where(np.isfinite(x), 1.0, np.nan)
    powers = np.exp(x - largest(x, dim))
    return powers / powers.sum(axis=dim, keepdims=True)


def log_softmax(x, dim, dtype=None):
    if not x.ndim:
        return np.where(np.isfinite(x), 0.0, np.nan)
    shifted = x - largest(x, dim)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def along(op, reference, steps, magnitude=None):
    shapes = (
        ("last dim", (3, 5), -1),
        ("first dim", (4, 3), 0),
        ("middle dim", (2, 5, 3), 1),
        ("0-d", (), 0),
        ("one element", (3, 1), 1),
        ("no rows", (0, 3), 1),
        ("long", (2, 143), 1),
    )
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"dim": dim},
            reference=reference,
            magnitude=magnitude,
            dtypes=REAL_FLOATS,
            gradient=bool(shape),
            special=name == "last dim",
            steps=steps,
            length=8,
        )
        for name, shape, dim in shapes
    ]


def size(x, *rest, **kwargs):
    return np.abs(x)


def one_or_size(x, *rest, **kwargs):
    return np.maximum(1, np.abs(x))


FLOATING = {"draw": away_from_zero, "dtypes": REAL_FLOATS, "gradient": True}

SAMPLES = [
    *unary("relu", relu, draw=away_from_zero, dtypes=REAL, gradient=True, second_gradient=False),
    # Backends may choose another way where there are many elements.
    Sample(
        op="relu",
        name="many elements",
        inputs=lambda make: (make.nonzero((11, 103)),),
        reference=relu,
        dtypes=(float32, float64),
        special=True,
    ),
    *unary(
        "hardtanh",
        hardtanh,
        draw=off_the_bounds,
        dtypes=tuple(dtype for dtype in REAL if dtype is not uint8),
        gradient=True,
        second_gradient=False,
    ),
    Sample(
        op="hardtanh",
        name="bounds",
        inputs=lambda make: (make((3, 4)),),
        kwargs={"min_val": -0.515, "max_val": 1.23},
        reference=hardtanh,
        dtypes=REAL_FLOATS,
        gradient=True,
        second_gradient=False,
        special=True,
    ),
    Sample(
        op="hardtanh",
        name="fractions beside integers",
        inputs=lambda make: (make((9,)),),
        kwargs={"min_val": 0.5, "max_val": 3.5},
        reference=lambda x, min_val, max_val: hardtanh(x, 0, 3),
        dtypes=INTEGERS,
    ),
    *unary(
        "relu6",
        lambda x: hardtanh(x, 0, 6),
        draw=lambda make, shape: make.nonzero(shape, 0.5, 9.0),
        dtypes=REAL,
        gradient=True,
        second_gradient=False,
    ),
    *unary("leaky_relu", leaky_relu, second_gradient=False, **FLOATING),
    *[
        Sample(
            op="leaky_relu",
            name=f"slope {slope}",
            inputs=lambda make, slope=slope: (make.nonzero((3, 4)), slope),
            reference=leaky_relu,
            dtypes=REAL_FLOATS,
            gradient=True,
            second_gradient=False,
            special=True,
        )
        for slope in (-0.5, 0.0, 1.5)
    ],
    *unary("elu", elu, steps=5, **FLOATING),
    Sample(
        op="elu",
        name="alpha",
        inputs=lambda make: (make.nonzero((3, 4)), 1.75),
        reference=elu,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=5,
    ),
    *unary("selu", selu, steps=6, **FLOATING),
    *unary("gelu", gelu, steps=8, magnitude=size, dtypes=REAL_FLOATS, gradient=True, special=False),
    Sample(
        op="gelu",
        name="many elements",
        inputs=lambda make: (make((3, 3001), -6, 6),),
        reference=gelu,
        magnitude=size,
        dtypes=(float32, float64),
        steps=8,
    ),
    Sample(
        op="gelu",
        name="far below zero",
        inputs=lambda make: (make((9,), -5, -2),),
        reference=gelu,
        dtypes=(float32,),
        steps=60,
    ),
    *[
        Sample(
            op="gelu",
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
    *unary("silu", silu, steps=8, dtypes=REAL_FLOATS, gradient=True, special=False),
    *unary("softplus", softplus, steps=6, dtypes=REAL_FLOATS, gradient=True),
    Sample(
        op="softplus",
        name="beta and threshold",
        inputs=lambda make: (make((3, 4)), 2.0, 1.5),
        reference=softplus,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=6,
    ),
    *unary("logsigmoid", lambda x: -np.logaddexp(0, -x), steps=6, dtypes=REAL_FLOATS, gradient=True),
    *along("softmax", softmax, 10),
    *along("log_softmax", log_softmax, 10, one_or_size),
    *along("softmin", lambda x, dim: softmax(-x, dim), 10),
    *[
        Sample(
            op=op,
            name="dtype",
            inputs=lambda make: (make((3, 4)),),
            kwargs={"dim": 1, "dtype": float64},
            reference=reference,
            dtypes=(int64, float32),
            result=always(float64),
            steps=10,
            magnitude=one_or_size,
        )
        for op, reference in (("softmax", softmax), ("log_softmax", log_softmax))
    ],
    *[
        Sample(
            op=op,
            name="far out",
            inputs=lambda make: (make((3, 4), 500, 1000),),
            kwargs={"dim": 1},
            reference=reference,
            magnitude=one_or_size,
            dtypes=(float32, float64),
            gradient=True,
            steps=10,
        )
        for op, reference in (("softmax", softmax), ("log_softmax", log_softmax))
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name="bool",
            call=lambda op, tensor: op(tensor(3, dtype=bool_)),
            raises=RuntimeError,
            match=rf"{name}: .*bool",
        )
        for name in ("relu", "hardtanh")
    ],
    *[
        ErrorCase(
            op=name,
            name="integers",
            call=lambda op, tensor: op(tensor(3, dtype=int64)),
            raises=RuntimeError,
            match=rf"{name}: .*int64",
        )
        for name in ("leaky_relu", "elu", "gelu", "silu", "softplus")
    ],
    *[
        ErrorCase(
            op=name,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64)),
            raises=RuntimeError,
            match=rf"{name}: complex",
        )
        for name in ("relu", "gelu", "silu")
    ],
    *[
        ErrorCase(
            op=name,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), 2),
            raises=IndexError,
            match=rf"{name}: dim 2 is out of range",
        )
        for name in ("softmax", "log_softmax", "softmin")
    ],
    *[
        ErrorCase(
            op=name,
            name="integers",
            call=lambda op, tensor: op(tensor(3, dtype=int64), 0),
            raises=RuntimeError,
            match=rf"{name}: .*int64",
        )
        for name in ("softmax", "log_softmax")
    ],
    ErrorCase(
        op="softmax",
        name="a list",
        call=lambda op, tensor: op([1.0], 0),
        raises=TypeError,
        match=r"softmax: input is list",
    ),
    ErrorCase(
        op="relu", name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=r"relu: input is list"
    ),
    ErrorCase(
        op="hardtanh",
        name="bounds",
        call=lambda op, tensor: op(tensor(3), 1, 0),
        raises=ValueError,
        match=r"hardtanh: min_val 1 .* max_val 0",
    ),
    ErrorCase(
        op="hardtanh",
        name="negative bound beside uint8",
        call=lambda op, tensor: op(tensor(3, dtype=uint8)),
        raises=RuntimeError,
        match=r"hardtanh: .*-1",
    ),
    ErrorCase(
        op="leaky_relu",
        name="slope",
        call=lambda op, tensor: op(tensor(3), "0.1"),
        raises=TypeError,
        match=r"leaky_relu: negative_slope is str",
    ),
    ErrorCase(
        op="gelu",
        name="approximate",
        call=lambda op, tensor: op(tensor(3), approximate="fast"),
        raises=ValueError,
        match=r"gelu: approximate is 'fast'\n.*input",
    ),
    ErrorCase(
        op="softplus",
        name="beta",
        call=lambda op, tensor: op(tensor(3), 0),
        raises=ValueError,
        match=r"softplus: beta is 0",
    ),
]
