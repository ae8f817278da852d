"""Data types: what they are, what they cast to, and shapes that broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import functions
from ..base import dtypes
from ..base.device import Device
from ..base.dtypes import DType
from ..dispatch.promotion import common_dtype
from ..errors import ArgumentError, ArgumentTypeError, safe_repr
from ..functions import broadcast_shapes as broadcast_shapes
from ..tensor import Tensor

KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (dtypes.bool_,),
    "signed integer": (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    "unsigned integer": (dtypes.uint8,),
    "real floating": (dtypes.float32, dtypes.float64),
    "complex floating": (dtypes.complex64, dtypes.complex128),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
"""The standard's names of groups of dtypes. float16 and bfloat16 are not in the standard and belong to none."""


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Tensor:
    """The tensor in another dtype; a copy unless *copy* is False and it has the dtype already."""
    result: Tensor = x.to(dtype=dtype, device=x.device if device is None else device, copy=copy)
    return result


def isdtype(dtype: DType, kind: DType | str | Sequence[DType | str]) -> bool:
    """Whether *dtype* is *kind*: a dtype, the name of a group in `KINDS`, or several of them.

    Raises ValueError for an unknown name.

    >>> from polyad import array_api as xp
    >>> xp.isdtype(xp.float32, ("bool", "real floating"))
    True
    """
    if isinstance(kind, DType):
        return dtype is kind
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ArgumentError(f"isdtype: {safe_repr(kind)} is no kind of dtype", fix=f"use one of {', '.join(KINDS)}")
        return dtype in KINDS[kind]
    if not isinstance(kind, tuple):
        raise ArgumentTypeError(f"isdtype: kind is {safe_repr(kind)}", fix="pass a dtype, a name, or a tuple of them")
    return any(isdtype(dtype, group) for group in kind)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether promotion may take *from_* to *to*: whether nothing is lost but precision of large integers.

    >>> from polyad import array_api as xp
    >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.int16, xp.int8)
    (True, False)
    """
    dtype = from_.dtype if isinstance(from_, Tensor) else from_
    return dtypes.promote_types(dtype, to) is to


def result_type(*arrays_and_dtypes: Tensor | DType | bool | int | float | complex) -> DType:
    """The dtype that the arguments promote to; numbers give way to tensors and dtypes of their kind.

    Raises ValueError without a tensor or dtype among them.

    >>> from polyad import array_api as xp
    >>> xp.result_type(xp.int8, xp.ones(2, dtype=xp.int16), 3)
    polyad.int16
    """
    found: list[Any] = []
    for value in arrays_and_dtypes:
        if isinstance(value, Tensor):
            found.append(value._type.nd)
        elif isinstance(value, DType):
            found.append(functions.empty((0,), dtype=value, device="cpu")._type)
        else:
            found.append(type(value))
    if all(isinstance(operand, type) for operand in found):
        raise ArgumentError("result_type: there is no tensor and no dtype", fix="pass one at least")
    return common_dtype(tuple(found))


def promoted(*operands: Tensor | bool | int | float | complex) -> list[Any]:
    """The operands with every tensor in the dtype of `result_type`; numbers stay numbers.

    The standard's promotion: a 0-d tensor counts for as much as any, while PyTorch has it give way.
    """
    if len({operand.dtype for operand in operands if isinstance(operand, Tensor)}) < 2:
        return list(operands)
    dtype = result_type(*operands)
    return [operand.to(dtype) if isinstance(operand, Tensor) else operand for operand in operands]


@dataclass(frozen=True)
class FloatLimits:
    """What `finfo` returns: the limits of a floating dtype; a complex dtype has those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerLimits:
    """What `iinfo` returns: the limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(type: DType | Tensor) -> DType:
    return type.dtype if isinstance(type, Tensor) else type


def finfo(type: DType | Tensor, /) -> FloatLimits:
    """The limits of a floating dtype, or of a tensor's; their ``dtype`` is a dtype, where `polyad.finfo` has its name.

    >>> from polyad import array_api as xp
    >>> xp.finfo(xp.complex64).dtype
    polyad.float32
    """
    dtype = _dtype_of(type)
    limits = dtypes.finfo(dtype)
    return FloatLimits(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, dtype.to_real())


def iinfo(type: DType | Tensor, /) -> IntegerLimits:
    """The limits of an integer dtype, or of a tensor's; their ``dtype`` is a dtype."""
    dtype = _dtype_of(type)
    limits = dtypes.iinfo(dtype)
    return IntegerLimits(limits.bits, limits.max, limits.min, dtype)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The tensors as views of one shape."""
    return list(functions.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """The tensor as a view of *shape*."""
    return functions.broadcast_to(x, tuple(shape))
