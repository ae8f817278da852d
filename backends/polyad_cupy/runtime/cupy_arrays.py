"""Arrays as CuPy's functions want them, over the same memory."""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import MemoryPointer, UnownedMemory

from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import reach
from polyad.codegen.packs import PACK_BYTES
from polyad.errors import DeviceError
from polyad.interop.numpy import numpy_dtype, polyad_dtype
from polyad_kernels.array import Array

from .memory import Borrowed


def shown(array: Array) -> Any:
    """A `cupy.ndarray` of the elements of *array*, in place."""
    block = array.block
    memory = UnownedMemory(block.buffer, block.nbytes, block, array.device.index)
    pointer = MemoryPointer(memory, array.offset * array.dtype.itemsize)
    return cupy.ndarray(array.shape, numpy_dtype(array.dtype), pointer, array.strides)


def taken(device: Any, made: Any) -> Array:
    """The elements of *made*, a `cupy.ndarray`, in place, to be read by work of this thread's stream."""
    dtype = polyad_dtype(made.dtype)
    steps = tuple([stride // dtype.itemsize for stride in made.strides])
    return borrowed(device, int(made.data.ptr), dtype, tuple(made.shape), steps, made)


def borrowed(
    device: Any, address: int, dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...], owner: Any
) -> Array:
    """An array over another library's memory, which *owner* keeps alive; *steps* are 0 or more.

    Kernels move 16 bytes at once where offsets and steps allow it: the block begins at a multiple of that, and the
    array's offset says the rest. Raises DeviceError for an address that is no multiple of an element's size.
    """
    ahead = address % PACK_BYTES
    if ahead % dtype.itemsize:
        raise DeviceError(
            f"the address {address:#x} is no multiple of {dtype.itemsize} bytes, the size of {dtype.name}",
            fix="copy the array first",
        )
    block = Borrowed(address - ahead, ahead + reach(shape, steps) * dtype.itemsize, device.pool, owner)
    return Array(block, dtype, shape, steps, ahead // dtype.itemsize)
