"""Devices whose arrays have no strides: whole, dense, and never written to, such as a tensor compiler's buffers.

Programs take views and write through them. `DenseBackend` gives core the strided handles that this needs, and asks the
device for whole arrays only: a view becomes an array when a kernel reads it, and a write through a view makes a new
array of the whole memory, in which the elements of the view are others. So every op and every program works; a device
that can do it by itself overrides `DenseBackend.reshaped`, `gathered` and `scattered`, which go by way of the host.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

from ..base.device import Device
from ..base.dtypes import DType
from ..base.locks import Lock
from ..base.shapes_and_strides import contiguous_strides
from ..devices import registry
from .interface import Backend, KernelTable, cast_by_rule

HOST = Device("cpu")
ALIGNMENT = 64


class Window(NamedTuple):
    """Where elements lie in a memory; strides and offset count elements of *dtype*."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class DenseMemory:
    """What aliasing tensors share: the device's array that holds their elements now.

    Attributes:
        array: whole, dense, of *shape* and *dtype*; a write puts another in its place, under *lock*.
        address: a number that serves as one.
    """

    __slots__ = ("address", "array", "device", "dtype", "lock", "shape")

    def __init__(self, array: Any, dtype: DType, shape: tuple[int, ...], device: Device, address: int) -> None:
        self.array, self.dtype, self.shape, self.device, self.address = array, dtype, shape, device, address
        self.lock = Lock()


class StridedHandle:
    """The handle that core sees; strides count bytes."""

    __slots__ = ("memory", "ndim", "shape", "strides", "window")

    def __init__(self, memory: DenseMemory, window: Window) -> None:
        self.memory, self.window = memory, window
        self.shape = window.shape
        self.ndim = len(window.shape)
        self.strides = tuple([stride * window.dtype.itemsize for stride in window.strides])

    @property
    def whole(self) -> bool:
        """Whether it shows the whole memory as it lies there, perhaps in another shape."""
        memory, window = self.memory, self.window
        return (
            window.dtype is memory.dtype
            and window.offset == 0
            and math.prod(window.shape) == math.prod(memory.shape)
            and (0 in window.shape or window.strides == contiguous_strides(window.shape))
        )


class DenseBackend(Backend):
    """A backend over whole, dense arrays, the device's own; none of them is ever written to.

    Derive from it and implement `device_count`, `brought` and `read`: with these every op runs, by counted fallback.
    `dense_kernels` has functions of the device's arrays.
    """

    def __init__(self) -> None:
        self._next = ALIGNMENT
        self._numbering = Lock()
        self._table: KernelTable | None = None

    @abstractmethod
    def brought(self, data: Any, dtype: DType, device: Device) -> Any:
        """The device's array with the elements of a row-major NumPy array, which may change when this has returned."""

    @abstractmethod
    def read(self, array: Any) -> Any:
        """The elements of the device's array as a new NumPy array, row-major, that may be written to."""

    def unset(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Any:
        """An array of the device with any elements. Raises MemoryError or OutOfMemory if there is no room."""
        return self.brought(registry.get(HOST.type).zeros(shape, dtype, HOST), dtype, device)

    def device_of(self, array: Any) -> Device:
        """Where an array is that a kernel returned. To override by a backend with several devices."""
        return Device(self.info.name, 0 if self.info.indexed else None)

    def converted(self, array: Any, dtype: DType) -> Any:
        """What a kernel returned, in *dtype*. The default suits kernels that return the dtype of the op's rule."""
        return array

    def reshaped(self, array: Any, dtype: DType, shape: tuple[int, ...], device: Device) -> Any:
        """The elements of *array* in another shape of as many."""
        return self.gathered(array, dtype, Window(dtype, shape, contiguous_strides(shape), 0), device)

    def gathered(self, array: Any, dtype: DType, window: Window, device: Device) -> Any:
        """An array of the elements in a window of *array*, which has *dtype*: perhaps another than the window's, which
        then reads the same bytes.
        """
        values = _view_window(self.read(array), window)
        host = registry.get(HOST.type)
        copied = host.empty(window.shape, window.dtype, HOST)
        host.copy(copied, values)
        return self.brought(copied, window.dtype, device)

    def scattered(self, array: Any, dtype: DType, window: Window, device: Device, values: Any) -> Any:
        """An array like *array*, with the elements of *values* in a window of it; they have the window's shape and
        dtype.
        """
        data = self.read(array)
        registry.get(HOST.type).copy(_view_window(data, window), self.read(values))
        return self.brought(data, dtype, device)

    @property
    def dense_kernels(self) -> KernelTable:
        """Kernels by op name, of the device's arrays; numbers as they are."""
        return {}

    # -------------------------------------------------------------------------------------------- what core asks for

    def handle(self, array: Any, dtype: DType, shape: tuple[int, ...], device: Device) -> StridedHandle:
        """The handle of an array of the device."""
        shape = tuple(shape)
        with self._numbering:
            address = self._next
            self._next += (math.prod(shape) * dtype.itemsize // ALIGNMENT + 2) * ALIGNMENT
        window = Window(dtype, shape, contiguous_strides(shape), 0)
        return StridedHandle(DenseMemory(array, dtype, shape, device, address), window)

    def dense(self, handle: StridedHandle) -> Any:
        """The device's array of a handle's elements."""
        memory = handle.memory
        if handle.whole:
            array, shape = memory.array, handle.shape
            return array if shape == memory.shape else self.reshaped(array, memory.dtype, shape, memory.device)
        return self.gathered(memory.array, memory.dtype, handle.window, memory.device)

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> StridedHandle:
        return self.handle(self.unset(tuple(shape), dtype, device), dtype, shape, device)

    def from_host(self, data: Any, dtype: DType, device: Device) -> StridedHandle:
        host = registry.get(HOST.type).from_host(data, dtype, HOST)
        return self.handle(self.brought(host, dtype, device), dtype, data.shape, device)

    def to_host(self, array: StridedHandle) -> Any:
        return self.read(self.dense(array))

    def copy(self, target: StridedHandle, source: StridedHandle) -> None:
        if source.window.dtype is target.window.dtype and source.shape == target.shape:
            self._write(target, self.dense(source))
        else:
            self._write_host(target, self.to_host(source))

    def fill(self, target: StridedHandle, value: bool | int | float | complex) -> None:
        host = registry.get(HOST.type)
        number = host.empty((), target.window.dtype, HOST)
        host.fill(number, value)
        self._write_host(target, number)

    def _write_host(self, target: StridedHandle, values: Any) -> None:
        host, window = registry.get(HOST.type), target.window
        data = host.empty(window.shape, window.dtype, HOST)
        host.copy(data, values)
        self._write(target, self.brought(data, window.dtype, target.memory.device))

    def _write(self, target: StridedHandle, values: Any) -> None:
        memory = target.memory
        with memory.lock:
            if target.whole and target.shape != memory.shape:
                memory.array = self.reshaped(values, memory.dtype, memory.shape, memory.device)
            elif target.whole:
                memory.array = values
            elif 0 not in target.shape:
                memory.array = self.scattered(memory.array, memory.dtype, target.window, memory.device, values)

    def root(self, array: StridedHandle) -> DenseMemory:
        return array.memory

    def as_strided(
        self, root: DenseMemory, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> StridedHandle:
        return StridedHandle(root, Window(dtype, tuple(shape), tuple(strides), offset))

    def data_ptr(self, array: StridedHandle) -> int:
        return array.memory.address + array.window.offset * array.window.dtype.itemsize

    @property
    def kernels(self) -> KernelTable:
        if self._table is None:
            self._table = cast_by_rule(self.dense_kernels, load=self._load, store=self._store)
        return self._table

    def _load(self, operand: Any, dtype: DType) -> Any:
        return self.dense(operand) if isinstance(operand, StridedHandle) else operand

    def _store(self, result: Any, dtype: DType) -> StridedHandle:
        return self.handle(self.converted(result, dtype), dtype, result.shape, self.device_of(result))


def _view_window(data: Any, window: Window) -> Any:
    """The window of a row-major NumPy array, in place."""
    host = registry.get(HOST.type)
    return host.as_strided(host.root(data), window.dtype, window.shape, window.strides, window.offset)
