"""Dtypes as ONNX's element types."""

from __future__ import annotations

from typing import Any

import polyad as torch
from polyad.base.extras import needed

from ..errors import SymbolicValueError

NAMES = {
    torch.float32: "FLOAT",
    torch.float64: "DOUBLE",
    torch.float16: "FLOAT16",
    torch.bfloat16: "BFLOAT16",
    torch.int8: "INT8",
    torch.int16: "INT16",
    torch.int32: "INT32",
    torch.int64: "INT64",
    torch.uint8: "UINT8",
    torch.uint16: "UINT16",
    torch.uint32: "UINT32",
    torch.uint64: "UINT64",
    torch.bool: "BOOL",
    torch.complex64: "COMPLEX64",
    torch.complex128: "COMPLEX128",
    torch.float8_e4m3fn: "FLOAT8E4M3FN",
    torch.float8_e4m3fnuz: "FLOAT8E4M3FNUZ",
    torch.float8_e5m2: "FLOAT8E5M2",
    torch.float8_e5m2fnuz: "FLOAT8E5M2FNUZ",
}


def onnx_ir() -> Any:
    """The package onnx-ir, with which models are built. Raises ImportError that says how to get it."""
    return needed("onnx_ir", "onnx", "onnx.export: models are built with onnx-ir")


def element_type(dtype: Any) -> Any:
    """ONNX's type of a dtype. Raises RuntimeError for one that ONNX lacks."""
    name = NAMES.get(dtype)
    if name is None:
        raise SymbolicValueError(f"onnx.export: ONNX has no {dtype}", fix="convert such tensors to another dtype")
    return onnx_ir().DataType[name]


def array_of(tensor: Any) -> Any:
    """The elements of a tensor as a NumPy array in row-major order, for which nothing is copied if that is possible."""
    return tensor.detach().cpu().contiguous().numpy(force=True)
