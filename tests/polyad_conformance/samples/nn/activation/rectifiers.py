"""Rectifiers."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, complex64, float16, float32, float64, int64

from ....patterns import unary
from ....sample import INTEGERS, REAL, REAL_FLOATS, ErrorCase, Sample, same
from ...random.sampling import source, uniform
from . import away_from_zero, functional, in_place, refused


def relu(x):
    return np.where(np.isnan(x) | (x > 0), x, 0)


def leaky_relu(x, negative_slope=0.01):
    return np.where(x > 0, x, x * negative_slope)


def threshold(x, threshold, value):
    return np.where(x <= threshold, value, x)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def celu(x, alpha=1.0):
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


def selu(x):
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def prelu(x, weight):
    weight = weight.reshape((-1,) + (1,) * (x.ndim - 2)) if weight.size > 1 else weight.reshape(())
    return np.maximum(x, 0) + weight * np.minimum(x, 0)


def rrelu(x, lower, upper, generator):
    slopes = uniform(x.shape, lower, upper, generator, float64)
    noise = np.where(x > 0, 1, slopes)
    return x * noise, noise


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
    *functional("leaky_relu", leaky_relu, away_from_zero, second_gradient=False),
    *[
        Sample(
            op="nn.functional.leaky_relu",
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
    *functional("threshold", threshold, away_from_zero, 0.25, 7.0, second_gradient=False),
    Sample(
        op="nn.functional.threshold",
        name="a number beside half types",  # which is not rounded
        inputs=lambda make: (np.array([0.3, -0.3, 0.25, 0.9]).astype(make(()).dtype), 0.3, -2.0),
        reference=threshold,
        dtypes=(float16, bfloat16),
    ),
    Sample(
        op="nn.functional.threshold",
        name="integers",
        inputs=lambda make: (make((9,)), 2.5, 7.5),
        reference=lambda x, *numbers: threshold(x, 2, 7),
        dtypes=INTEGERS,
    ),
    *functional("elu", elu, away_from_zero, steps=5),
    *functional("elu", elu, away_from_zero, 1.75, prefix="alpha, ", shapes={"2-d": (3, 4)}, steps=5),
    *functional("celu", celu, away_from_zero, 0.5, steps=8),
    *functional("selu", selu, away_from_zero, steps=6),
    *[
        Sample(
            op="nn.functional.prelu",
            name=name,
            inputs=lambda make, shape=shape, weight=weight: (make.nonzero(shape), make(weight)),
            reference=prelu,
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=2,
            length=12,
        )
        for name, shape, weight in (
            ("one weight", (3, 4), (1,)),
            ("0-d weight", (5,), ()),
            ("a weight a channel", (2, 3, 4), (3,)),
            ("0-d", (), (1,)),
            ("nothing", (0, 3), (3,)),
        )
    ],
    Sample(
        op="_rrelu",
        inputs=lambda make: (make.nonzero((5, 7)), 0.125, 0.375, source()),
        reference=rrelu,
        dtypes=(float64,),
        result=(same, same),
        gradient=(0,),
        steps=3,
    ),
    Sample(
        op="nn.functional.rrelu",
        inputs=lambda make: (make.nonzero((3, 4)), 0.25, 0.75),
        reference=lambda x, low, high: leaky_relu(x, 0.5),
        dtypes=REAL_FLOATS,
        gradient=True,
        second_gradient=False,
        special=True,
    ),
    Sample(
        op="nn.functional.rrelu",
        name="training with one slope",
        inputs=lambda make: (make.nonzero((3, 4)), 0.25, 0.25, True),
        reference=lambda x, low, high, training: leaky_relu(x, 0.25),
        dtypes=REAL_FLOATS,
        gradient=True,
    ),
]

ERRORS = [
    ErrorCase(
        op="relu",
        name="bool",
        call=lambda op, tensor: op(tensor(3, dtype=bool_)),
        raises=RuntimeError,
        match=r"relu: .*bool",
    ),
    ErrorCase(
        op="relu",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=RuntimeError,
        match=r"relu: complex",
    ),
    ErrorCase(
        op="relu", name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=r"relu: input is list"
    ),
    *[
        refused(name, "integers", lambda op, tensor: op(tensor(3, dtype=int64)), RuntimeError, ".*int64")
        for name in ("leaky_relu", "elu", "rrelu")
    ],
    *[
        ErrorCase(
            op=f"nn.functional.{name}",
            name="integers",
            call=lambda op, tensor: op(tensor(3, dtype=int64)),
            raises=RuntimeError,
            match=r"elu: .*int64",
        )
        for name in ("celu", "selu")
    ],
    refused("threshold", "bool", lambda op, tensor: op(tensor(3, dtype=bool_), 0, 1), RuntimeError, ".*bool"),
    refused("threshold", "a string", lambda op, tensor: op(tensor(3), "0", 1), TypeError, "threshold is str"),
    refused("leaky_relu", "slope", lambda op, tensor: op(tensor(3), "0.1"), TypeError, "negative_slope is str"),
    refused("celu", "alpha", lambda op, tensor: op(tensor(3), 0.0), RuntimeError, r"alpha is 0\n.*input"),
    refused("rrelu", "bounds", lambda op, tensor: op(tensor(3), 0.5, 0.25), RuntimeError, "lower 0.5 is above upper"),
    refused(
        "prelu",
        "weights",
        lambda op, tensor: op(tensor(3, 4), tensor(3)),
        RuntimeError,
        r"3 weights .* 4 channels\n.*input .*\n.*weight",
    ),
    refused("prelu", "matrix", lambda op, tensor: op(tensor(3, 4), tensor(1, 4)), RuntimeError, "weight has 2 dim"),
    refused(
        "prelu",
        "dtypes",
        lambda op, tensor: op(tensor(3, 4), tensor(1, dtype=float16)),
        RuntimeError,
        r"input and weight differ in dtype\n.*input .*\n.*weight",
    ),
]

_SAMPLES, _ERRORS = in_place(SAMPLES, ERRORS, "threshold", "leaky_relu", "rrelu", "elu", "celu", "selu")
SAMPLES += _SAMPLES
ERRORS += _ERRORS
