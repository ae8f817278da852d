"""Linear layers: a product of matrices, to whose result the bias is added in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import bfloat16, bool_, float16

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


KERNELS = {
    "linear": Kernel(linear, specialize=_specialize_linear),
}
