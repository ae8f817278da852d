"""Memory formats: in which order the dimensions of a dense tensor lie in memory.

    contiguous_format   row-major: the last dimension varies fastest
    channels_last       (N, C, H, W) with channels fastest: strides as of (N, H, W, C)
    channels_last_3d    the same for (N, C, D, H, W)
    preserve_format     as the tensor that is copied lies, if it is dense

Strides count elements. To add a format, add its order to `_ORDERS`.
"""

from __future__ import annotations

import sys
from typing import Any

from ..errors import ArgumentTypeError, NotSupported, ShapeError, safe_repr
from .shapes_and_strides import Shape, Strides, contiguous_strides, is_contiguous, is_dense

__all__ = [
    "MemoryFormat",
    "MemoryLayout",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "jagged",
    "preserve_format",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]


class MemoryFormat:
    """A memory format such as `polyad.channels_last`; there are four."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"polyad.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> MemoryFormat:
        return self

    def __deepcopy__(self, memo: Any) -> MemoryFormat:
        return self


class MemoryLayout(MemoryFormat):
    """What ``Tensor.layout`` is: `polyad.strided`, or of a sparse tensor (`polyad.sparse`) its own."""

    __slots__ = ()

    def __str__(self) -> str:  # code for PyTorch compares it with "torch.sparse_coo"
        return f"{sys.modules['polyad'].__name__}.{self.name}"


contiguous_format = MemoryFormat("contiguous_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
preserve_format = MemoryFormat("preserve_format")
strided = MemoryLayout("strided")
sparse_coo = MemoryLayout("sparse_coo")
sparse_csr = MemoryLayout("sparse_csr")
sparse_csc = MemoryLayout("sparse_csc")
sparse_bsr = MemoryLayout("sparse_bsr")
sparse_bsc = MemoryLayout("sparse_bsc")
jagged = MemoryLayout("jagged")

_ORDERS = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
"""Dimensions from the slowest to the fastest."""


def check_format(memory_format: Any, op: str, default: MemoryFormat = preserve_format) -> MemoryFormat:
    """*memory_format* itself, *default* for None; raises TypeError for anything that is none."""
    if memory_format is None:
        return default
    if not isinstance(memory_format, MemoryFormat) or isinstance(memory_format, MemoryLayout):
        raise ArgumentTypeError(
            f"{op}: memory_format is {safe_repr(memory_format)}, which is none",
            fix="use polyad.contiguous_format, channels_last, channels_last_3d or preserve_format",
        )
    return memory_format


def check_layout(layout: Any, op: str) -> None:
    """Raise unless *layout* is None or `polyad.strided`: NotImplementedError, as sparse tensors are made elsewhere."""
    if layout is not None and layout is not strided:
        raise NotSupported(
            f"{op}: layout is {safe_repr(layout)}; it makes strided tensors alone",
            fix="use polyad.strided, or make a sparse tensor of it: tensor.to_sparse(layout=...)",
        )


def format_strides(shape: Shape, memory_format: MemoryFormat, op: str) -> Strides:
    """The strides of a tensor of *shape* in a format. Raises RuntimeError for another number of dimensions than it
    has.
    """
    order = _ORDERS.get(memory_format)
    if order is None:
        return contiguous_strides(shape)
    if len(shape) != len(order):
        raise ShapeError(
            f"{op}: {memory_format.name} is for {len(order)} dimensions, not {len(shape)}",
            fix="leave memory_format out, or add dimensions",
        )
    strides = [0] * len(order)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim] if dim else 1
    return tuple(strides)


def is_contiguous_in(shape: Shape, strides: Strides, memory_format: MemoryFormat) -> bool:
    """Whether elements lie without gaps in the order of a format; strides of size-1 dimensions do not matter."""
    order = _ORDERS.get(memory_format)
    if order is None:
        return is_contiguous(shape, strides)
    if len(shape) != len(order):
        return False
    step = 1
    for dim in reversed(order):
        if shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= shape[dim]
    return True


def copy_strides(shape: Shape, strides: Strides, memory_format: MemoryFormat, op: str) -> Strides:
    """The strides of a copy in a format of a tensor that lies as (shape, strides)."""
    if memory_format is not preserve_format:
        return format_strides(shape, memory_format, op)
    if is_dense(shape, strides):
        return strides
    return dense_strides_like(shape, strides)


def dense_strides_like(shape: Shape, strides: Strides) -> Strides:
    """Strides of a dense tensor of *shape* whose dimensions are ordered in memory as *strides* orders them.

    A dimension of stride 0 has no place of its own in that order and stays where it is among the others; of two equal
    strides the larger dimension is the slower. PyTorch orders by the same insertion sort.
    """
    order = list(range(len(shape)))[::-1]  # fastest first

    def faster(a: int, b: int) -> int:
        if not strides[a] or not strides[b]:
            return 0
        if strides[a] != strides[b]:
            return -1 if strides[a] < strides[b] else 1
        return 1 if shape[a] > shape[b] else 0

    for start in range(1, len(order)):
        place = start
        for other in range(start - 1, -1, -1):
            verdict = faster(order[other], order[place])
            if verdict > 0:
                order[other], order[place] = order[place], order[other]
                place = other
            elif verdict < 0:
                break
    result = [0] * len(shape)
    step = 1
    for dim in order:
        result[dim] = step
        step *= max(shape[dim], 1)
    return tuple(result)
