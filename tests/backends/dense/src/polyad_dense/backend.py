"""Arrays without strides, and kernels over them by NumPy."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from polyad.backend import KernelTable
from polyad.backend.dense import DenseBackend
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.interop.numpy import numpy_dtype

ROOM = 1 << 30
"""More bytes than this are refused in one piece."""


class Buffer:
    """A whole array. Its elements are bytes that cannot be changed; there is no window of it."""

    __slots__ = ("_bytes", "_dtype", "shape")

    def __init__(self, values: np.ndarray) -> None:
        if values.nbytes > ROOM:
            raise MemoryError(f"{values.nbytes} bytes in one piece, where {ROOM} are the most")
        self.shape, self._dtype, self._bytes = values.shape, values.dtype, values.tobytes()

    def values(self) -> np.ndarray:
        """The elements, not to be written to."""
        return np.ndarray(self.shape, self._dtype, self._bytes)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("an array of dense was read on the host; only read can")


class DenseOnly(DenseBackend):
    """Device "dense". Views and writes are `DenseBackend`'s."""

    def device_count(self) -> int:
        return 1

    def brought(self, data: Any, dtype: DType, device: Device) -> Buffer:
        assert data.flags.c_contiguous
        return Buffer(data)

    def unset(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Buffer:
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes > ROOM:
            raise MemoryError(f"{nbytes} bytes in one piece, where {ROOM} are the most")
        return Buffer(np.zeros(shape, numpy_dtype(dtype)))

    def read(self, array: Buffer) -> np.ndarray:
        return array.values().copy()

    def reshaped(self, array: Buffer, dtype: DType, shape: tuple[int, ...], device: Device) -> Buffer:
        return Buffer(array.values().reshape(shape))

    def converted(self, array: Buffer, dtype: DType) -> Buffer:
        return Buffer(array.values().astype(numpy_dtype(dtype)))

    @property
    def dense_kernels(self) -> KernelTable:
        def computed(function: Any) -> Any:
            def kernel(*operands: Any) -> Buffer:
                given = [operand.values() if isinstance(operand, Buffer) else operand for operand in operands]
                with np.errstate(all="ignore"):
                    return Buffer(np.asarray(function(*given)))

            return kernel

        return {name: computed(function) for name, function in FUNCTIONS.items()}


FUNCTIONS = {
    "eq": operator.eq,
    "lt": operator.lt,
    "logical_not": np.logical_not,
    "neg": np.negative,
    "maximum": np.maximum,
}
"""What NumPy computes as polyad's rules say; everything else falls back."""
