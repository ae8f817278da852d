"""Tensors that share memory, as arrays of a file and views of them.

Tensors that share memory share it after loading too. Where they read it as several dtypes, the array has the smallest
of them (of complex numbers the parts). A tensor that is the only saved view of its memory brings only the elements that
it shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base import dtypes
from ..base.dtypes import DType
from ..base.shapes_and_strides import contiguous_strides
from ..errors import NoData
from ..tensor import Tensor
from ..tensor.pending import settle

__all__ = ["Laid", "bytes_of", "lay_out", "memory_of"]


def memory_of(tensor: Tensor) -> tuple[int, bool]:
    """What tensors that are to share an array have in common; bool, which not all memory is, shares with bool alone."""
    settle(tensor)
    memory = tensor if tensor._storage is None else tensor._storage.origin or tensor._storage
    return id(memory), tensor.dtype is dtypes.bool_


@dataclass(frozen=True, slots=True)
class Laid:
    """An array, and how tensors lie in it.

    Attributes:
        flat: the array's elements, contiguous.
        shape: the array's.
        layouts: for each tensor strides and offset, in elements of its own dtype.
    """

    flat: Tensor
    shape: tuple[int, ...]
    layouts: list[tuple[tuple[int, ...], int]]

    @property
    def dtype(self) -> DType:
        """The array's."""
        return self.flat.dtype

    def bytes(self) -> memoryview:
        """The array's bytes; raises ArgumentError for a tensor without any."""
        try:
            return bytes_of(self.flat)
        except NoData as error:
            raise error.told_by("save", {"tensor": self.flat}) from None


def bytes_of(flat: Tensor) -> memoryview:
    """The bytes of a contiguous tensor."""
    return memoryview(flat._type.backend.to_host(flat._array).reshape(-1).view("u1"))


def lay_out(views: list[Tensor]) -> Laid:
    """The array for tensors that share memory."""
    first = views[0]
    if len(views) == 1 and (first.is_contiguous() or not _fills_its_span(first)):
        shape = tuple(first.shape)
        return Laid(first.detach().contiguous(), shape, [(contiguous_strides(shape), 0)])
    unit = first.dtype
    if any(view.dtype is not unit for view in views):
        unit = min((view.dtype.to_real() for view in views), key=lambda dtype: dtype.itemsize)
    spans = [_span(view) for view in views]
    ratios = [view.itemsize // unit.itemsize for view in views]
    origin = min(begin * ratio for (begin, _), ratio in zip(spans, ratios, strict=True))
    origin -= origin % max(ratios)
    end = max(end * ratio for (_, end), ratio in zip(spans, ratios, strict=True))
    whole = first.detach().as_strided((_room(first),), (1,), 0).view(unit)
    layouts: list[Any] = [
        (view.stride(), view.storage_offset() - origin // ratio) for view, ratio in zip(views, ratios, strict=True)
    ]
    return Laid(whole.as_strided((end - origin,), (1,), origin), (end - origin,), layouts)


def _span(tensor: Tensor) -> tuple[int, int]:
    """The first element of its storage that the tensor shows, and the element after the last."""
    begin = tensor.storage_offset()
    if tensor.numel() == 0:
        return begin, begin
    return begin, begin + 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))


def _room(tensor: Tensor) -> int:
    """How many of the tensor's elements its storage has room for."""
    room: int = tensor.untyped_storage().nbytes() // tensor.itemsize
    return room


def _fills_its_span(tensor: Tensor) -> bool:
    """Whether saving the memory between first and last element is no more than saving the elements."""
    begin, end = _span(tensor)
    return end - begin <= tensor.numel()
