"""PyTorch's older names: ``sparse.FloatTensor(indices, values, size)``."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor

from .creation import sparse_coo_tensor
from .tensor import SparseTensor

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


class SparseType(type):
    """The class of the types below: their instances are COO tensors of a dtype."""

    dtype: Any

    def __call__(cls, *parts: Any, device: Any = None) -> Tensor:
        """A tensor of indices, values and perhaps a size, or one of sizes without elements; values keep their dtype."""
        if parts and isinstance(parts[0], Tensor):
            return sparse_coo_tensor(*parts, device=device)
        size = parts[0] if len(parts) == 1 and not isinstance(parts[0], int) else parts or (0,)
        return sparse_coo_tensor(size, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, SparseTensor) and instance.is_sparse and instance.dtype is cls.dtype


def _type(name: str, dtype: Any) -> Any:
    doc = f"COO tensors of {dtype}: ``{name}(indices, values, size)``."
    return SparseType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "polyad.sparse"})


BFloat16Tensor = _type("BFloat16Tensor", polyad.bfloat16)
ByteTensor = _type("ByteTensor", polyad.uint8)
CharTensor = _type("CharTensor", polyad.int8)
DoubleTensor = _type("DoubleTensor", polyad.float64)
FloatTensor = _type("FloatTensor", polyad.float32)
HalfTensor = _type("HalfTensor", polyad.float16)
IntTensor = _type("IntTensor", polyad.int32)
LongTensor = _type("LongTensor", polyad.int64)
ShortTensor = _type("ShortTensor", polyad.int16)
