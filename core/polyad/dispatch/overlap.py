"""Operands that lie in the memory which a call writes to.

A kernel that reads what it has written already gives other numbers than the op, and which ones depends on the order of
its work. So a write is refused where an operand is another part of the written memory, as in PyTorch; where that cannot
be told from the layouts, or where each written element depends on several of the operand's, the op is carried out first
and its result is copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.shapes_and_strides import is_dense
from ..errors import ShapeError
from ..tensor import Tensor
from ..tensor.storage import Storage
from .views import layout_of


def share(storage: Storage, values: Iterable[Any]) -> bool:
    """Whether a tensor among *values*, which may hold lists of tensors, lies in the memory of *storage*."""
    for value in values:
        if isinstance(value, Tensor):
            other = value._storage
            if other is storage:
                return True
            if other is not None and (other.origin or other) is (storage.origin or storage):
                return True
        elif value.__class__ in (list, tuple) and share(storage, [one for one in value if isinstance(one, Tensor)]):
            return True
    return False


def must_wait(name: str, target: Tensor, values: Iterable[Any], elementwise: bool, refused: bool = True) -> bool:
    """Whether a kernel that reads *values* has to end before *target*, whose memory some of them share, is written.

    *elementwise* says that an element of the result depends on no other place of an operand of its layout. Raises
    RuntimeError for an operand that is a part of target's memory and no other tensor over it, if that is *refused*.
    """
    wait = False
    for value in values:
        if value.__class__ in (list, tuple):
            wait = must_wait(name, target, value, elementwise, refused) or wait
        elif value is target:
            wait = wait or not elementwise
        elif isinstance(value, Tensor) and (
            value._storage is target._storage or share(target._storage, (value,))  # type: ignore[arg-type]
        ):
            same = _same_place(target, value)
            if same == "partly" and refused:
                raise ShapeError(
                    f"{name}: an operand is another part of the memory that is written",
                    operands={"written": target, "operand": value},
                    fix="clone() the operand first",
                )
            wait = wait or (same is not None and (same != "exactly" or not elementwise))
    return wait


def _same_place(one: Tensor, other: Tensor) -> str | None:
    """How two tensors of one storage lie: None if they have no place in common, "exactly" the same places in the same
    order, "partly" or in another order, "perhaps" where there are gaps between elements.
    """
    mine, its = one._array, other._array
    size, other_size = one._type.dtype.itemsize, other._type.dtype.itemsize
    begin, other_begin = one.storage_offset() * size, other.storage_offset() * other_size
    # What is most often met comes first: x[i] += y writes a row to the place where it lies.
    same = begin == other_begin and size == other_size and mine.strides == its.strides and mine.shape == its.shape
    if same and 0 not in mine.shape:
        return "exactly"
    # A backend's strides count bytes, too.
    if begin >= other_begin + _span(its, other_size) or other_begin >= begin + _span(mine, size):
        return None
    return (
        "partly" if all(is_dense(shape, strides) for shape, strides, _ in map(layout_of, (one, other))) else "perhaps"
    )


def _span(array: Any, itemsize: int) -> int:
    """How many bytes lie between the beginning of the first and the end of the last element."""
    span = itemsize
    for size, stride in zip(array.shape, array.strides, strict=True):
        if not size:
            return 0
        span += (size - 1) * stride
    return span
