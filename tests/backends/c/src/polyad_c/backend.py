"""Tier 0 on memory of the host, and everything that core generates."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from polyad.backend import Backend, KernelTable
from polyad.backend.c_compiler import command
from polyad.backend.runtime import Runtime
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.codegen.kernels import copying, fill, generated_kernels
from polyad.interop.numpy import empty_on_host, numpy_dtype

from .runtime import CRuntime


class CArray:
    """A strided handle; steps and offset count elements."""

    __slots__ = ("dtype", "memory", "ndim", "offset", "shape", "steps")

    def __init__(
        self, memory: np.ndarray, dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...], offset: int = 0
    ) -> None:
        self.memory, self.dtype, self.shape, self.steps, self.offset = memory, dtype, shape, steps, offset
        self.ndim = len(shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""
        return tuple([step * self.dtype.itemsize for step in self.steps])

    @property
    def address(self) -> int:
        """Where the memory begins, from which the offset counts."""
        return int(self.memory.ctypes.data)


class CBackend(Backend):
    """Device "c"."""

    def device_count(self) -> int:
        return 0 if command() is None else 1

    def probe(self) -> str:
        return (
            ""
            if command()
            else "there is no C compiler: neither $CC, nor cc, gcc or clang on PATH, nor the package ziglang"
        )

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> CArray:
        return self.laid_out(dtype, tuple(shape), contiguous_strides(shape))

    def laid_out(self, dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...]) -> CArray:
        """A new array with these steps."""
        return CArray(np.empty(math.prod(shape) * dtype.itemsize, np.uint8), dtype, shape, steps)

    def from_host(self, data: Any, dtype: DType, device: Device) -> CArray:
        memory = np.array(data, numpy_dtype(dtype), order="C").reshape(-1).view(np.uint8)
        return CArray(memory, dtype, data.shape, contiguous_strides(data.shape))

    def to_host(self, array: CArray) -> Any:
        if 0 in array.shape:
            return empty_on_host(array.shape, array.dtype)
        begin = array.offset * array.dtype.itemsize
        return np.ndarray(array.shape, numpy_dtype(array.dtype), array.memory, begin, array.strides).copy(order="C")

    def copy(self, target: CArray, source: CArray) -> None:
        if 0 in target.shape:
            return
        surplus = max(0, source.ndim - target.ndim)
        source = CArray(source.memory, source.dtype, source.shape[surplus:], source.steps[surplus:], source.offset)
        copying(self.runtime(), source.dtype, target.dtype).into((target,), (source,))

    def fill(self, target: CArray, value: bool | int | float | complex) -> None:
        fill(self.runtime(), target, value, target.dtype)

    def root(self, array: CArray) -> np.ndarray:
        return array.memory

    def as_strided(
        self, root: np.ndarray, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> CArray:
        return CArray(root, dtype, tuple(shape), tuple(strides), offset)

    def data_ptr(self, array: CArray) -> int:
        return array.address + array.offset * array.dtype.itemsize

    def runtime(self, device: Device | None = None) -> Runtime:
        return _runtime(self)

    @property
    def kernels(self) -> KernelTable:
        return _kernels(self)


@cache
def _runtime(backend: CBackend) -> CRuntime:
    return CRuntime(backend, Device(backend.info.name, 0))


@cache
def _kernels(backend: CBackend) -> KernelTable:
    return generated_kernels(backend.runtime)
