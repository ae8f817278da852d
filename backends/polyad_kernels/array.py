"""The array handle: a block of device memory, and how to see it.

Kernels get the memory as ``array.buffer`` and where it begins as ``array.offset``, in elements: OpenCL has no pointers
into the middle of a buffer that a host could pass. A block has a ``buffer``, and the ``pool`` that it came from.
Strides
count bytes for core, ``array.steps`` counts elements for kernels.
"""

from __future__ import annotations

import math
from typing import Any

from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import contiguous_strides, is_contiguous


class Array:
    """*shape* elements of *dtype* in *block*, from element *offset* on, *steps* elements apart."""

    __slots__ = ("block", "buffer", "dtype", "ndim", "offset", "shape", "steps")

    def __init__(self, block: Any, dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...], offset: int) -> None:
        self.block = block
        self.buffer = block.buffer
        self.dtype = dtype
        self.shape = shape
        self.steps = steps
        self.offset = offset
        self.ndim = len(shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each dimension."""
        size = self.dtype.itemsize
        return tuple([step * size for step in self.steps])

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def device(self) -> Any:
        """The object that runs kernels on it: see the package's docstring."""
        return self.block.pool.device

    @property
    def is_dense(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return is_contiguous(self.shape, self.steps)

    def __repr__(self) -> str:
        return f"<array {self.dtype.name} {self.shape} on {self.device}>"


def new(device: Any, shape: tuple[int, ...], dtype: DType) -> Array:
    """A row-major array with unspecified contents."""
    block = device.pool.take(math.prod(shape) * dtype.itemsize)
    return Array(block, dtype, shape, contiguous_strides(shape), 0)
