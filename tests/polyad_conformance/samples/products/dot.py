"""Inner products of vectors."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int64

from ...sample import ErrorCase
from .mm import product

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)

SAMPLES = [
    product("dot", "", (17,), (17,), np.dot),
    product("dot", "nothing", (0,), (0,), np.dot),
    product("vdot", "", (5,), (5,), np.vdot),
    product("inner", "vectors", (5,), (5,), np.inner, dtypes=DIFFERENTIABLE),
    product("inner", "matrix and vector", (2, 5), (5,), np.inner, dtypes=DIFFERENTIABLE),
    product("inner", "many dimensions", (2, 5), (3, 1, 5), np.inner),
    product("inner", "0-d", (), (3,), np.inner, length=1),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="lengths",
            call=lambda op, tensor: op(tensor(2), tensor(3)),
            raises=RuntimeError,
            match=rf"{op}: .*2 != 3\n.*input .*\n.*{other}",
        )
        for op, other in (("dot", "tensor"), ("vdot", "other"), ("inner", "other"))
    ],
    ErrorCase(
        op="dot",
        name="matrices",
        call=lambda op, tensor: op(tensor(2, 2), tensor(2, 2)),
        raises=RuntimeError,
        match=r"dot: input .* is not a vector",
    ),
    ErrorCase(
        op="inner",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(2), tensor(2, dtype=float16)),
        raises=RuntimeError,
        match=r"inner: .*same dtype\n.*input .*\n.*other",
    ),
]
