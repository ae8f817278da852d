"""Tier 0 on NumPy: an array handle is a ``numpy.ndarray``, memory is the host's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from polyad.backend import Backend, KernelTable
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.interop.numpy import converted, is_for_memory, numpy_dtype

from . import workers
from .cache import CHUNK
from .kernels import KERNELS
from .quiet import thread


class NumpyBackend(Backend):
    """The host's memory and NumPy's kernels."""

    chunk = CHUNK

    def device_count(self) -> int:
        return 1

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Any:
        return _allocated(np.empty, shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Any:
        return _allocated(np.zeros, shape, dtype)

    def from_host(self, data: Any, dtype: DType, device: Device) -> Any:
        return np.array(data, numpy_dtype(dtype), order="C")

    def adopt(self, data: Any, dtype: DType, device: Device) -> Any:
        data = np.asarray(data, numpy_dtype(dtype), order="C")
        return data if data.flags.writeable else data.copy()

    def to_host(self, array: Any) -> Any:
        return array

    def copy(self, target: Any, source: Any) -> None:
        if target.dtype is source.dtype:
            target[...] = source  # a third of np.copyto's cost
            return
        if source.dtype.kind == "c" and target.dtype.kind not in "cb":
            source = source.real
        if is_for_memory(target.dtype) or is_for_memory(source.dtype):
            source = thread.run(converted, source, target.dtype)
        elif source.dtype == np.float64 and target.dtype == np.float16:
            source = source.astype(np.float32)  # as `cast` rounds
        thread.run(np.copyto, target, source, casting="unsafe")

    def copy_all(self, targets: Sequence[Any], sources: Sequence[Any]) -> None:
        for target, source in zip(targets, sources, strict=True):
            self.copy(target, source)

    def fill(self, target: Any, value: bool | int | float | complex) -> None:
        if target.dtype.itemsize == 1 and is_for_memory(target.dtype):
            value = thread.run(converted, np.asarray(value), target.dtype)
        thread.run(target.fill, value)

    def root(self, array: Any) -> Any:
        # The buffer protocol, which as_strided goes through, wants row-major memory and knows no bfloat16.
        if array.flags.c_contiguous and array.dtype.isbuiltin == 1:
            return array
        flat = array.ravel(order="K")
        return flat.view(np.uint8) if flat.dtype.isbuiltin != 1 else flat

    def as_strided(self, root: Any, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        size = dtype.itemsize
        return np.ndarray(shape, numpy_dtype(dtype), root, offset * size, _in_bytes(strides, size))

    def to_dlpack(self, array: Any, stream: Any, max_version: tuple[int, int] | None) -> Any:
        return array.__dlpack__(stream=stream, max_version=max_version)

    def num_threads(self) -> int:
        return workers.num_threads()

    def set_num_threads(self, number: int) -> None:
        workers.set_num_threads(number)

    def data_ptr(self, array: Any) -> int:
        return int(array.ctypes.data)

    @property
    def kernels(self) -> KernelTable:
        return KERNELS


@lru_cache(maxsize=4096)
def _in_bytes(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple([stride * itemsize for stride in strides])


def _allocated(make: Callable[..., Any], shape: tuple[int, ...], dtype: DType) -> Any:
    try:
        return make(shape, numpy_dtype(dtype))
    except ValueError as error:
        if "supported dimension" in str(error):
            raise
        raise MemoryError(str(error)) from error  # more bytes than an address can tell apart
