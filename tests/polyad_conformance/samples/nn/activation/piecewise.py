"""Activations made of straight lines."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, complex64, float16, float32, float64, int64, uint8

from ....patterns import beside_a_number
from ....sample import INTEGERS, REAL, REAL_FLOATS, Sample
from . import functional, in_place, off_the_bounds, refused


def hardtanh(x, min_val=-1.0, max_val=1.0):
    return np.where(x < min_val, min_val, np.where(x > max_val, max_val, x))


def hardsigmoid(x):
    return np.clip(x / 6 + 0.5, 0, 1)


def hardshrink(x, lambd=0.5):
    return np.where(np.abs(x) <= lambd, 0, x)


def softshrink(x, lambd=0.5):
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


SAMPLES = [
    *functional(
        "hardtanh",
        hardtanh,
        off_the_bounds,
        dtypes=tuple(dtype for dtype in REAL if dtype is not uint8),
        second_gradient=False,
    ),
    Sample(
        op="nn.functional.hardtanh",
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
        op="nn.functional.hardtanh",
        name="fractions beside integers",
        inputs=lambda make: (make((9,)),),
        kwargs={"min_val": 0.5, "max_val": 3.5},
        reference=lambda x, min_val, max_val: hardtanh(x, 0, 3),
        dtypes=INTEGERS,
    ),
    *functional(
        "relu6",
        lambda x: hardtanh(x, 0, 6),
        lambda make, shape: make.nonzero(shape, 0.5, 9.0),
        dtypes=REAL,
        second_gradient=False,
    ),
    *functional(
        "hardsigmoid", hardsigmoid, off_the_bounds, steps=3, magnitude=lambda x: 1.0 + 0 * x, second_gradient=False
    ),
    *functional("hardswish", lambda x: x * hardsigmoid(x), off_the_bounds, steps=4, magnitude=np.abs),
    *functional("hardshrink", hardshrink, off_the_bounds, second_gradient=False),
    *functional("hardshrink", hardshrink, off_the_bounds, -1.0, prefix="negative, ", shapes={"1-d": (5,)}),
    beside_a_number("nn.functional.hardshrink", hardshrink),
    *functional("softshrink", softshrink, off_the_bounds, magnitude=np.abs, second_gradient=False),
    Sample(
        op="nn.functional.softshrink",
        name="a number beside half types",  # which is not rounded
        inputs=lambda make: (np.array([0.3, -0.3, 0.25, 0.9]).astype(make(()).dtype), 0.3),
        reference=softshrink,
        dtypes=(float16, bfloat16),
    ),
    Sample(
        op="nn.functional.softshrink",
        name="many elements",
        inputs=lambda make: (make((3, 3001), -6, 6), 1.5),
        reference=softshrink,
        magnitude=lambda x, lambd: np.abs(x),
        dtypes=(float32, float64),
    ),
]

ERRORS = [
    refused("hardtanh", "bool", lambda op, tensor: op(tensor(3, dtype=bool_)), RuntimeError, ".*bool"),
    *[
        refused(name, "integers", lambda op, tensor: op(tensor(3, dtype=int64)), RuntimeError, ".*int64")
        for name in ("hardsigmoid", "hardswish", "hardshrink", "softshrink")
    ],
    refused("hardswish", "complex", lambda op, tensor: op(tensor(3, dtype=complex64)), RuntimeError, "complex"),
    refused("hardtanh", "bounds", lambda op, tensor: op(tensor(3), 1, 0), ValueError, r"min_val 1 .* max_val 0"),
    refused(
        "hardtanh",
        "negative bound beside uint8",
        lambda op, tensor: op(tensor(3, dtype=uint8)),
        RuntimeError,
        ".*-1",
    ),
    refused("hardshrink", "lambd", lambda op, tensor: op(tensor(3), "1"), TypeError, "lambd is str"),
    refused("softshrink", "lambd", lambda op, tensor: op(tensor(3), -1.0), RuntimeError, r"lambd -1\.0 is not in"),
]

# PyTorch's hardtanh_ lets bounds in the wrong order pass.
_SAMPLES, _ERRORS = in_place(SAMPLES, [case for case in ERRORS if case.name != "bounds"], "hardtanh")
SAMPLES += _SAMPLES
ERRORS += _ERRORS
