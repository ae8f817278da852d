"""The backend that the guide built: tier 0, and two kernels."""

import math

import numpy as np

from polyad.backend import Backend, BackendInfo, Capabilities, Kernel
from polyad.dtypes import bool_, float32, float64, int32, int64
from polyad.interop.numpy import numpy_dtype
from polyad.layout import contiguous_strides


class Block:
    """The array handle: memory, and how to see it. Core reads shape, strides (in bytes) and ndim; the rest is ours."""

    def __init__(self, memory, dtype, shape, strides, offset):
        self.memory, self.dtype, self.shape, self.offset = memory, dtype, shape, offset
        self.strides = tuple(stride * dtype.itemsize for stride in strides)
        self.ndim = len(shape)

    def window(self):
        """Our device's way of touching the memory."""
        return np.ndarray(
            self.shape, numpy_dtype(self.dtype), self.memory, self.offset * self.dtype.itemsize, self.strides
        )


class BytesBackend(Backend):
    """Tier 0, and a few kernels."""

    info = BackendInfo(
        name="older_1_0",
        api_version=(1, 0),
        capabilities=Capabilities(
            dtypes=frozenset({bool_, int32, int64, float32, float64}), features=frozenset({"fp64"})
        ),
        install="pip install polyad-older",
    )

    def device_count(self):
        return 2

    def empty(self, shape, dtype, device):
        memory = bytearray(max(math.prod(shape), 1) * dtype.itemsize)
        return Block(memory, dtype, shape, contiguous_strides(shape), 0)

    def from_host(self, data, dtype, device):
        made = self.empty(data.shape, dtype, device)
        made.window()[...] = data
        return made

    def to_host(self, array):
        return array.window().copy()

    def copy(self, target, source):
        target.window()[...] = source.window().copy()

    def fill(self, target, value):
        target.window()[...] = value

    def root(self, array):
        return array.memory

    def as_strided(self, root, dtype, shape, strides, offset):
        return Block(root, dtype, shape, strides, offset)

    def data_ptr(self, array):
        return id(array.memory) + array.offset * array.dtype.itemsize

    @property
    def kernels(self):
        return KERNELS


def binary(function):
    def kernel(a, b):
        left = a.window() if isinstance(a, Block) else a
        right = b.window() if isinstance(b, Block) else b
        with np.errstate(all="ignore"):  # NaN and infinity are values, not reasons to warn
            values = function(left, right)
        dtype = a.dtype if isinstance(a, Block) else b.dtype
        values = np.asarray(values, numpy_dtype(dtype))
        return Block(bytearray(values.tobytes()), dtype, values.shape, contiguous_strides(values.shape), 0)

    return kernel


KERNELS = {
    "add": binary(np.add),
    "mul": Kernel(binary(np.multiply), dtypes=frozenset({int64, float32, float64})),
}
