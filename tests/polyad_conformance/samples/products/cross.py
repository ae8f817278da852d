"""Cross products."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float16, float32, float64, int32, int64

from ...sample import ErrorCase
from .mm import product

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)


def crossed(a, b, dim=-1):
    a, b = np.broadcast_arrays(np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0))
    levi_civita = np.zeros((3, 3, 3), a.dtype)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        levi_civita[i, j, k], levi_civita[i, k, j] = 1, -1
    made = np.einsum("ijk,j...,k...->i...", levi_civita, a, b)
    return np.moveaxis(made.astype(a.dtype), 0, dim)


def crossed_magnitude(a, b, dim=-1):
    """What cancels is at most twice the product of the largest elements."""
    return 2 * np.max(np.abs(a), initial=0) * np.max(np.abs(b), initial=0)


SAMPLES = [
    product("cross", "first dim of size 3", (3, 2), (3, 2), lambda a, b: crossed(a, b, 0), magnitude=crossed_magnitude),
    product("cross", "a dim", (2, 3, 5), (1, 3, 5), crossed, magnitude=crossed_magnitude, kwargs={"dim": 1}),
    product("cross", "no vectors", (0, 3), (0, 3), crossed, magnitude=crossed_magnitude, dtypes=DIFFERENTIABLE),
]

ERRORS = [
    ErrorCase(
        op="cross",
        name="no dimension of size 3",
        call=lambda op, tensor: op(tensor(2, 4), tensor(2, 4)),
        raises=RuntimeError,
        match=r"cross: input has no dimension of size 3\n.*input",
    ),
    ErrorCase(
        op="cross",
        name="numbers of dimensions",
        call=lambda op, tensor: op(tensor(3), tensor(2, 3), dim=0),
        raises=RuntimeError,
        match=r"cross: input has 1 dimensions and other 2\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="cross",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(3, dtype=int32), tensor(3, dtype=complex64), dim=0),
        raises=RuntimeError,
        match=r"cross: .*same dtype",
    ),
]
