"""Arrays as CuPy's functions want them, over the same memory."""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import MemoryPointer, UnownedMemory

from polyad.interop.numpy import numpy_dtype
from polyad_kernels.array import Array


def shown(array: Array) -> Any:
    """A `cupy.ndarray` of the elements of *array*, in place."""
    block = array.block
    memory = UnownedMemory(block.buffer, block.nbytes, block, array.device.index)
    pointer = MemoryPointer(memory, array.offset * array.dtype.itemsize)
    return cupy.ndarray(array.shape, numpy_dtype(array.dtype), pointer, array.strides)
