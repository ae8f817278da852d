"""Linear layers: a product of matrices, to whose result the bias is added in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import bfloat16, bool_, float16

from ...quiet import thread
from ..products.matmul import gemm


def linear(a: Any, weight: Any, bias: Any) -> Any:
    out = gemm(a, weight, False, True)
    if bias is not None:
        out += bias
    return out


def _specialize_linear(types: Signature) -> Any:
    type_ = types[0]
    assert isinstance(type_, TensorType)
    if type_.dtype in (float16, bfloat16):

        def in_float32(a: Any, weight: Any, bias: Any) -> Any:
            wide = None if bias is None else bias.astype(np.float32)
            return thread.run(linear(a.astype(np.float32), weight.astype(np.float32), wide).astype, a.dtype)

        return in_float32
    return None if type_.dtype is bool_ else linear


def linear_weight_grad(grad: Any, a: Any) -> Any:
    rows = math.prod(grad.shape[:-1])
    return gemm(grad.reshape(rows, grad.shape[-1]), a.reshape(rows, a.shape[-1]), True, False)


def _specialize_weight_grad(types: Signature) -> Any:
    type_ = types[0]
    assert isinstance(type_, TensorType)
    if type_.dtype in (float16, bfloat16):

        def in_float32(grad: Any, a: Any) -> Any:
            wide = linear_weight_grad(grad.astype(np.float32), a.astype(np.float32))
            return thread.run(wide.astype, grad.dtype)

        return in_float32
    return None if type_.dtype is bool_ else linear_weight_grad


KERNELS = {
    "linear": Kernel(linear, specialize=_specialize_linear),
    "linear_weight_grad": Kernel(linear_weight_grad, specialize=_specialize_weight_grad),
}
