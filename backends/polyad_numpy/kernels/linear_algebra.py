"""Matrix products, through NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import bfloat16, bool_, float16

from .quiet import thread

_dot, _matmul = np.dot, np.matmul


def gemm(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if transpose_a:
        a = a.T if a.ndim == 2 else a.swapaxes(-1, -2)
    if transpose_b:
        b = b.T if b.ndim == 2 else b.swapaxes(-1, -2)
    # dot has a third of matmul's overhead on small matrices and calls the same BLAS.
    if a.ndim == 2 and b.ndim == 2:
        return thread.run(_dot, a, b)
    # By itself matmul lays its result out as its operands are; PyTorch's is row-major.
    return thread.run(_matmul, a, b, order="C")


def _specialize(types: Signature) -> Any:
    kind = types[0]
    assert isinstance(kind, TensorType)
    if kind.dtype in (float16, bfloat16):

        def in_float32(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
            return gemm(a.astype(np.float32), b.astype(np.float32), transpose_a, transpose_b).astype(a.dtype)

        return in_float32
    return None if kind.dtype is bool_ else gemm


def linear(a: Any, weight: Any, bias: Any) -> Any:
    out = gemm(a, weight, False, True)
    if bias is not None:
        out += bias
    return out


def _specialize_linear(types: Signature) -> Any:
    kind = types[0]
    assert isinstance(kind, TensorType)
    if kind.dtype in (float16, bfloat16):

        def in_float32(a: Any, weight: Any, bias: Any) -> Any:
            wide = None if bias is None else bias.astype(np.float32)
            return linear(a.astype(np.float32), weight.astype(np.float32), wide).astype(a.dtype)

        return in_float32
    return None if kind.dtype is bool_ else linear


KERNELS = {"gemm": Kernel(gemm, specialize=_specialize), "linear": Kernel(linear, specialize=_specialize_linear)}
