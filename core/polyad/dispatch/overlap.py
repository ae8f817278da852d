"""Operands that lie in the memory which a call writes to.

A kernel that reads what it has written already gives other numbers than the op, and which ones depends on the order of
its work. So a write is refused where an operand is another part of the written memory, as in PyTorch; where that cannot
be told from the layouts, or where each written element depends on several of the operand's, the op is carried out first
and its result is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import ShapeError
from ..layout import is_dense
from ..storage import Storage
from ..tensor import Tensor
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
        elif value.__class__ in (list, tuple) and share(storage, value):
            return True
    return False


def must_wait(name: str, target: Tensor, values: Iterable[Any], elementwise: bool, refused: bool = True) -> bool:
    """Whether a kernel that reads *values* has to end before *target*, whose memory some of them share, is written.

    *elementwise* says that an element of the result depends on no other place of an operand of its layout. Raises
    RuntimeError for an operand that is a part of target's memory and no other tensor over it, if that is *refused*.
    """
    wait = False
    for value in _sharing(target._storage, values):
        if value is target:
            wait = wait or not elementwise
            continue
        same = _same_place(target, value)
        if same is None:
            continue
        if same == "partly" and refused:
            raise ShapeError(
                f"{name}: an operand is another part of the memory that is written",
                operands={"written": target, "operand": value},
                fix="clone() the operand first",
            )
        wait = wait or not elementwise or same != "exactly"
    return wait


def _sharing(storage: Storage | None, values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            if storage is not None and share(storage, (value,)):
                yield value
        elif isinstance(value, (list, tuple)):
            yield from _sharing(storage, value)


def _same_place(one: Tensor, other: Tensor) -> str | None:
    """How two tensors of one storage lie: None if they have no place in common, "exactly" the same places in the same
    order, "partly" or in another order, "perhaps" where there are gaps between elements.
    """
    mine, its = layout_of(one), layout_of(other)
    if 0 in mine.shape or 0 in its.shape:
        return None
    start, end = _bytes(one)
    other_start, other_end = _bytes(other)
    if end <= other_start or other_end <= start:
        return None
    if mine == its and one._type.dtype is other._type.dtype:
        return "exactly"
    return "partly" if is_dense(mine.shape, mine.strides) and is_dense(its.shape, its.strides) else "perhaps"


def _bytes(tensor: Tensor) -> tuple[int, int]:
    """Between which bytes of the storage the elements lie."""
    shape, strides, offset = layout_of(tensor)
    last = offset + sum([(size - 1) * stride for size, stride in zip(shape, strides, strict=True)])
    size = tensor._type.dtype.itemsize
    return offset * size, (last + 1) * size
