"""The types that ONNX gives elements, and tensors of files as polyad's.

Every type of ONNX that is a number has one here. polyad has no dtypes of less than a byte: int4, uint4, int2 and
uint2 are held as int8 and uint8, and float4e2m1 as float32; where a program says such a type, values are brought into
its range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

import polyad
from polyad import Tensor
from polyad.errors import PolyadError, SerializationError, safe_repr

__all__ = ["ElementType", "array_of", "element_type", "from_array", "tensor_of", "to_array"]

T = onnx.TensorProto


@dataclass(frozen=True)
class ElementType:
    """A type of ONNX's, and how polyad holds its numbers."""

    code: int
    name: str
    dtype: Any
    """polyad's."""
    bits: int = 0
    """Of an integer of less than a byte."""
    array_dtype: Any = None
    """NumPy's, where it is not the one that polyad's gives."""


_ELEMENT_TYPES = [
    ElementType(T.FLOAT, "float", polyad.float32),
    ElementType(T.UINT8, "uint8", polyad.uint8),
    ElementType(T.INT8, "int8", polyad.int8),
    ElementType(T.UINT16, "uint16", polyad.uint16),
    ElementType(T.INT16, "int16", polyad.int16),
    ElementType(T.INT32, "int32", polyad.int32),
    ElementType(T.INT64, "int64", polyad.int64),
    ElementType(T.BOOL, "bool", polyad.bool),
    ElementType(T.FLOAT16, "float16", polyad.float16),
    ElementType(T.DOUBLE, "double", polyad.float64),
    ElementType(T.UINT32, "uint32", polyad.uint32),
    ElementType(T.UINT64, "uint64", polyad.uint64),
    ElementType(T.COMPLEX64, "complex64", polyad.complex64),
    ElementType(T.COMPLEX128, "complex128", polyad.complex128),
    ElementType(T.BFLOAT16, "bfloat16", polyad.bfloat16),
    ElementType(T.FLOAT8E4M3FN, "float8e4m3fn", polyad.float8_e4m3fn),
    ElementType(T.FLOAT8E4M3FNUZ, "float8e4m3fnuz", polyad.float8_e4m3fnuz),
    ElementType(T.FLOAT8E5M2, "float8e5m2", polyad.float8_e5m2),
    ElementType(T.FLOAT8E5M2FNUZ, "float8e5m2fnuz", polyad.float8_e5m2fnuz),
    ElementType(T.FLOAT8E8M0, "float8e8m0", polyad.float8_e8m0fnu),
    ElementType(T.UINT4, "uint4", polyad.uint8, 4, ml_dtypes.uint4),
    ElementType(T.INT4, "int4", polyad.int8, 4, ml_dtypes.int4),
    ElementType(T.UINT2, "uint2", polyad.uint8, 2, ml_dtypes.uint2),
    ElementType(T.INT2, "int2", polyad.int8, 2, ml_dtypes.int2),
    ElementType(T.FLOAT4E2M1, "float4e2m1", polyad.float32, 0, ml_dtypes.float4_e2m1fn),
]
_BY_CODE = {each.code: each for each in _ELEMENT_TYPES}
_BY_DTYPE = {each.dtype: each for each in reversed(_ELEMENT_TYPES)}
_WIDER = {each.array_dtype: each for each in _ELEMENT_TYPES if each.array_dtype is not None}


class NoSuchType(PolyadError, NotImplementedError):
    """A type of elements that polyad has not: strings, and numbers that a later ONNX may add."""


def element_type(code: int, where: str) -> ElementType:
    """The type with ONNX's number *code*; *where* is what errors say of its place."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    name = T.DataType.Name(code).lower() if code in T.DataType.values() else str(code)
    if code == T.STRING:
        raise NoSuchType(f"onnx.load: {where}: tensors of strings have no form in polyad", fix="prepare text outside")
    raise NoSuchType(
        f"onnx.load: {where}: the element type {name} is unknown", fix="a newer polyad or onnx may know it"
    )


def of_dtype(dtype: Any) -> ElementType:
    """ONNX's type of polyad's *dtype*."""
    return _BY_DTYPE[dtype]


def array_of(proto: onnx.TensorProto, where: str = "a tensor") -> np.ndarray:
    """The tensor of a file as an array, every number in the dtype in which polyad holds it."""
    kind = element_type(proto.data_type, f"{where} {safe_repr(proto.name)}")
    if any(size < 0 for size in proto.dims):
        raise SerializationError(
            f"onnx.load: {where} {safe_repr(proto.name)}: shape {tuple(proto.dims)} has a negative size",
            fix="the file is damaged: use another copy",
        )
    if proto.data_location == T.EXTERNAL:
        raise SerializationError(
            f"onnx.load: {where} {safe_repr(proto.name)}: its numbers are in another file, which the bytes of a model "
            "cannot name",
            fix="load the model by its path",
        )
    try:
        array = numpy_helper.to_array(proto)
    except (ValueError, TypeError, OverflowError) as error:
        raise SerializationError(
            f"onnx.load: {where} {safe_repr(proto.name)}: its numbers are not those of a {kind.name} tensor of shape "
            f"{tuple(proto.dims)}",
            notes={"found": safe_repr(str(error))},
            fix="the file is damaged: use another copy",
        ) from error
    return held(array, kind)


def held(array: np.ndarray, kind: ElementType) -> np.ndarray:
    """*array* in the dtype that polyad holds its numbers in."""
    if kind.array_dtype is None:
        return array
    return array.astype(polyad.empty(0, dtype=kind.dtype).numpy().dtype)


def tensor_of(proto: onnx.TensorProto, where: str = "a tensor") -> Tensor:
    """The tensor of a file as polyad's, in memory of its own."""
    return from_array(array_of(proto, where))


def from_array(array: np.ndarray) -> Tensor:
    """A tensor on the host with the numbers of *array*, copied."""
    kind = _WIDER.get(array.dtype.type)
    if kind is not None:
        array = held(array, kind)
    return polyad.from_numpy(np.array(array, order="C"))


def to_array(tensor: Tensor, kind: ElementType | None = None) -> np.ndarray:
    """A tensor's numbers as an array, of the NumPy dtype of ONNX's *kind* if it is given."""
    array: np.ndarray = tensor.detach().cpu().numpy()
    if kind is not None and kind.array_dtype is not None:
        return array.astype(kind.array_dtype)
    return array
