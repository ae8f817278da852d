"""Arrays as CuPy's functions want them, over the same memory."""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import MemoryPointer, UnownedMemory

from polyad.interop.numpy import numpy_dtype, polyad_dtype
from polyad_kernels.array import Array

from ..runtime.memory import Borrowed


def shown(array: Array) -> Any:
    """A `cupy.ndarray` of the elements of *array*, in place."""
    block = array.block
    memory = UnownedMemory(block.buffer, block.nbytes, block, array.device.index)
    pointer = MemoryPointer(memory, array.offset * array.dtype.itemsize)
    return cupy.ndarray(array.shape, numpy_dtype(array.dtype), pointer, array.strides)


def taken(device: Any, made: Any) -> Array:
    """The elements of *made*, a `cupy.ndarray`, in place, to be read by work of this thread's stream."""
    dtype = polyad_dtype(made.dtype)
    block = Borrowed(int(made.data.ptr), made.nbytes, device.pool, made)
    return Array(block, dtype, tuple(made.shape), tuple([stride // dtype.itemsize for stride in made.strides]), 0)
