"""Which MPI operation reduces elements of which dtype.

float16 and bfloat16 are no types of MPI's: they travel as 16-bit words, which a function in Python adds up in float32
and rounds after each pair of processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

import polyad
from polyad.distributed.reduce_ops import ReduceOp
from polyad.errors import UnsupportedDType

from .joining import mpi

__all__ = ["datatype", "operation"]

_TYPES = {
    polyad.float32: "FLOAT",
    polyad.float64: "DOUBLE",
    polyad.int8: "INT8_T",
    polyad.int16: "INT16_T",
    polyad.int32: "INT32_T",
    polyad.int64: "INT64_T",
    polyad.uint8: "UINT8_T",
    polyad.uint16: "UINT16_T",
    polyad.uint32: "UINT32_T",
    polyad.uint64: "UINT64_T",
    polyad.complex64: "C_FLOAT_COMPLEX",
    polyad.complex128: "C_DOUBLE_COMPLEX",
    polyad.bool: "C_BOOL",
    polyad.float16: "UINT16_T",
    polyad.bfloat16: "UINT16_T",
}
_HALVES: dict[Any, Any] = {polyad.float16: np.float16, polyad.bfloat16: ml_dtypes.bfloat16}
_BY_OP = {
    ReduceOp.SUM: "SUM",
    ReduceOp.AVG: "SUM",  # and a division
    ReduceOp.PRODUCT: "PROD",
    ReduceOp.MIN: "MIN",
    ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "BAND",
    ReduceOp.BOR: "BOR",
    ReduceOp.BXOR: "BXOR",
}
_OF_BOOLS = {"SUM": "LOR", "PROD": "LAND", "MIN": "LAND", "MAX": "LOR", "BAND": "LAND", "BOR": "LOR", "BXOR": "LXOR"}
_OF_HALVES: dict[str, Callable[..., Any]] = {
    "SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum
}  # fmt: skip
_NO_MEAN = (polyad.bool, polyad.uint16, polyad.uint32, polyad.uint64)
_OF_NUMBERS = ("SUM", "PROD", "MIN", "MAX")


@cache
def datatype(dtype: Any) -> Any:
    """MPI's datatype for elements of *dtype*."""
    name = _TYPES.get(dtype)
    return None if name is None else getattr(mpi(), name)


@cache
def operation(dtype: Any, op: ReduceOp, function: str) -> Any:
    """MPI's operation. Raises NotImplementedError where numbers of *dtype* are not reduced so."""
    name = _BY_OP[op]
    is_float, is_complex = dtype.is_floating_point, dtype.is_complex
    known = datatype(dtype) is not None
    no_mean = op is ReduceOp.AVG and dtype in _NO_MEAN
    if not known or no_mean or (is_float and name not in _OF_NUMBERS) or (is_complex and name not in ("SUM", "PROD")):
        raise UnsupportedDType(
            f"{function}: {op.name} is not computed for {dtype}",
            fix="convert to float32" if not known else "use SUM, or a dtype that has the operation",
        )
    if dtype is polyad.bool:
        name = _OF_BOOLS[name]
    if dtype in _HALVES:
        return _of_halves(_OF_HALVES[name], _HALVES[dtype])
    return getattr(mpi(), name)


def _of_halves(combine: Callable[..., Any], element: Any) -> Any:
    def reduce(given: Any, into: Any, _: Any) -> None:
        result = np.frombuffer(into, element)
        result[...] = combine(np.frombuffer(given, element).astype(np.float32), result.astype(np.float32))

    return mpi().Op.Create(reduce, commute=True)
