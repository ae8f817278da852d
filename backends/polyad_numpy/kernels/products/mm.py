"""Products of fixed ranks: straight to the BLAS, with the checks of rank that ``numpy.dot`` leaves out.

float16 and bfloat16 are multiplied in float32. A ValueError makes the op's shape rule say what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import bfloat16, float16

from ...quiet import quiet, thread
from .matmul import matmul

_dot = np.dot


def is_half(types: Signature) -> bool:
    """Whether the first operand is float16 or bfloat16."""
    type_ = types[0]
    assert isinstance(type_, TensorType)
    return type_.dtype in (float16, bfloat16)


def mm(a: Any, b: Any) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("two matrices are wanted")
    return _dot(a, b)


def bmm(a: Any, b: Any) -> Any:
    if a.ndim != 3 or b.ndim != 3 or len(a) != len(b):
        raise ValueError("two batches of as many matrices are wanted")
    return matmul(a, b)


def mv(a: Any, v: Any) -> Any:
    if a.ndim != 2 or v.ndim != 1:
        raise ValueError("a matrix and a vector are wanted")
    return _dot(a, v)


def _product(multiply: Callable[..., Any]) -> Kernel:
    def in_float32(a: Any, b: Any) -> Any:
        return multiply(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)

    def kernel(a: Any, b: Any) -> Any:
        return thread.run(multiply, a, b)

    wide = quiet(in_float32)
    return Kernel(kernel, specialize=lambda types: wide if is_half(types) else kernel)


def _batched(types: Signature) -> Any:
    if not is_half(types):
        return bmm

    def in_float32(a: Any, b: Any) -> Any:
        return thread.run(bmm(a.astype(np.float32), b.astype(np.float32)).astype, a.dtype)

    return in_float32


KERNELS = {
    "mm": _product(mm),
    "bmm": Kernel(bmm, specialize=_batched),
    "mv": _product(mv),
}
