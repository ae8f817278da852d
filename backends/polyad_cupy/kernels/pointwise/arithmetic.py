"""Adding an array to what another kernel has computed."""

from __future__ import annotations

from typing import Any

from polyad.base.dtypes import DType
from polyad.codegen import Operand
from polyad.codegen.kernels import PointwiseKernel
from polyad_kernels.array import Array
from polyad_kernels.memo import memoize


def add_to(x: Array, other: Array) -> None:
    """Add *other*, of the same shape and dtype, to *x*."""
    _sum(x.device, x.dtype).into((x,), (x, other))


@memoize
def _sum(device: Any, dtype: DType) -> PointwiseKernel:
    return PointwiseKernel(device.generated, f"add {dtype.name}", [Operand(0, dtype) + Operand(1, dtype)])
