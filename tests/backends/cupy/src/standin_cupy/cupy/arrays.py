"""`cupy.ndarray` over memory of a simulated device, and functions that are put off like kernels."""

from __future__ import annotations

import math

import numpy as np

from . import simulation
from .cuda.memory import MemoryPointer, UnownedMemory, alloc
from .cuda.runtime import CUDARuntimeError
from .cuda.stream import Stream, get_current_stream


class ndarray:
    """Elements in a device's memory. Deliberately no array of NumPy's."""

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.data = alloc(max(1, self.nbytes)) if memptr is None else memptr
        self.ndim = len(self.shape)
        if strides is None:
            strides, step = [], self.dtype.itemsize
            for size in reversed(self.shape):
                strides.insert(0, step)
                step *= size
        self.strides = tuple(strides)

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct one")

    def _host(self):
        memory = simulation.devices[simulation.current()].owner(self.data.ptr)
        if memory is None:
            raise CUDARuntimeError("IllegalAddress")
        return np.ndarray(self.shape, self.dtype, memory.contents, self.data.ptr - memory.address, self.strides)

    @property
    def nbytes(self):
        return self.dtype.itemsize * math.prod(self.shape)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream not in (None, -1, 1, 2):
            Stream.adopted(stream).wait_event(get_current_stream().record())
        elif stream != -1:
            Stream.null.wait_event(get_current_stream().record())
        return self._host().__dlpack__(max_version=max_version)

    def __dlpack_device__(self):
        return 2, simulation.current()


class _OnTheHost:
    """A capsule that NumPy may read."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **options):
        return self._capsule

    def __dlpack_device__(self):
        return 1, 0


def from_dlpack(array, *, device=None, copy=None):
    if array.__dlpack_device__()[0] != 2:
        raise BufferError("this memory is not a GPU's")
    capsule = array.__dlpack__(stream=get_current_stream().ptr or 1)
    data = np.from_dlpack(_OnTheHost(capsule))
    pointer = MemoryPointer(UnownedMemory(data.ctypes.data, data.nbytes, data), 0)
    return ndarray(data.shape, data.dtype, pointer, data.strides)


_MULTIPLIED = set("?bBhHiIlLqQefdFD")


def matmul(a, b, out=None):
    simulation.wanted("libcublas.so.12", ImportError)
    if out is None:
        raise NotImplementedError("the stand-in multiplies into an array that it is given")
    for x in (a, b, out):
        if x.dtype.char not in _MULTIPLIED and x.ndim > 2:
            raise TypeError(f"batched products of {x.dtype} are broken in CuPy 14")
    left, right, to = a._host(), b._host(), out._host()
    if to.shape != (*np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1]):
        raise ValueError("out has another shape")
    library_queue().put(lambda: to.__setitem__(..., _product(left, right)))
    return out


def library_queue():
    """The current stream's work, for a library of NVIDIA's that CuPy gives its stream: not while that is captured."""
    queue = simulation.queue_of(get_current_stream().ptr)
    if queue.capture:
        raise NotImplementedError("calling cuBLAS API during stream capture is currently unsupported")
    return queue


def _product(a, b):
    wide = np.float32 if a.dtype.itemsize == 2 and a.dtype.kind not in "iu" else a.dtype
    return np.matmul(a.astype(wide), b.astype(wide))
