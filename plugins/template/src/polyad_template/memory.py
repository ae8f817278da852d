"""The handle of an array on the device: core reads its shape, strides and ndim, and knows nothing else of it."""

import math

import numpy as np

from polyad.base.shapes_and_strides import contiguous_strides
from polyad.interop.numpy import numpy_dtype

ROOM = 1 << 32


class Buffer:
    """A strided window of a piece of memory."""

    def __init__(self, memory, dtype, shape, strides, offset=0):
        self.memory, self.dtype, self.shape, self.ndim = memory, dtype, tuple(shape), len(shape)
        self.strides = tuple(stride * dtype.itemsize for stride in strides)
        self.offset = offset * dtype.itemsize

    @classmethod
    def new(cls, shape, dtype):
        """Memory of its own, row-major."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes > ROOM:
            raise MemoryError(f"{nbytes} bytes are more than this device has")
        return cls(bytearray(nbytes), dtype, shape, contiguous_strides(shape))

    @classmethod
    def of(cls, values, dtype):
        """New memory that holds what a kernel has computed."""
        made = cls.new(np.shape(values), dtype)
        made.values()[...] = values
        return made

    def values(self):
        """The elements, in place: how this device touches its memory. Yours launches something instead."""
        return np.ndarray(self.shape, numpy_dtype(self.dtype), self.memory, self.offset, self.strides)
