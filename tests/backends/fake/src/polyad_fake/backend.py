"""Tier 0 of the fake device: handles, and commands for the queue."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from polyad.backend import Backend, Capabilities, KernelTable
from polyad.backend.memory import MemoryStats
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.devices import registry
from polyad.errors import DeviceError
from polyad.interop.numpy import numpy_dtype

from . import pinning
from .device import FakeDevice
from .kernels import make_kernels
from .memory import FakeArray, Memory
from .order import ORDER
from .plugin import info
from .streams import FakeStreams

GIB = 1 << 30


class FakeBackend(Backend):
    """Device "fake": see the package's docstring.

    Attributes:
        devices: the devices, by index.
    """

    def __init__(self, devices: int = 2, memory: int = GIB) -> None:
        self.info = info()
        self.devices = [FakeDevice(f"fake:{index}", memory) for index in range(devices)]
        self._streams = [FakeStreams(device) for device in self.devices]
        self._kernels: KernelTable | None = None

    @classmethod
    def from_environment(cls) -> FakeBackend:
        """As POLYAD_FAKE_DEVICES and POLYAD_FAKE_MEMORY say."""
        return cls(int(os.environ.get("POLYAD_FAKE_DEVICES", 2)), int(os.environ.get("POLYAD_FAKE_MEMORY", GIB)))

    def device_count(self) -> int:
        return len(self.devices)

    def capabilities(self, device: Device) -> Capabilities:
        return self.info.capabilities

    def describe_device(self, device: Device) -> str:
        ours = self.devices[device.index or 0]
        return f"{self.info.description}; {ours.stats().allocated:,} of {ours.limit:,} bytes in use"

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> FakeArray:
        return self.make(shape, dtype, self.devices[device.index or 0])

    def make(self, shape: tuple[int, ...], dtype: DType, device: FakeDevice) -> FakeArray:
        """As `empty`, for a device of ours."""
        shape = tuple(shape)
        memory = device.allocate(math.prod(shape) * dtype.itemsize)
        return FakeArray(memory, dtype, shape, _bytes(contiguous_strides(shape), dtype), 0)

    def from_host(self, data: Any, dtype: DType, device: Device) -> FakeArray:
        made = self.empty(data.shape, dtype, device)
        window, blocks = made.window(), made.device.blocks
        staged = np.array(data, numpy_dtype(dtype), order="C")  # the user may change data before the queue gets there
        made.device.submit(lambda: blocks.write(window, staged), (), [window])
        return made

    def to_host(self, array: FakeArray) -> Any:
        device, window = array.device, array.window()
        values: list[np.ndarray] = []
        device.submit(lambda: values.append(device.blocks.at(window).values(window).copy(order="C")), [window])
        device.wait()
        return values[0]

    def pinned(self, count: int, dtype: DType) -> Any:
        return pinning.allocate(count, dtype)

    def is_pinned(self, data: Any) -> bool:
        return pinning.is_pinned(data)

    def from_host_later(self, data: Any, dtype: DType, device: Device) -> FakeArray:
        made = self.empty(data.shape, dtype, device)
        window, blocks = made.window(), made.device.blocks
        transfer = pinning.Upload(data, made.device.name)
        done = made.device.submit(lambda: blocks.write(window, transfer.taken), (), [window])
        ORDER.when_known(*done, transfer.end)
        return made

    def to_host_later(self, array: FakeArray) -> Any:
        device, window = array.device, array.window()
        transfer = pinning.Download(array.shape, array.dtype)
        done = device.submit(lambda: transfer.arrive(device.blocks.at(window).values(window)), [window])
        ORDER.when_known(*done, transfer.end)
        return transfer.data

    def copy(self, target: FakeArray, source: FakeArray) -> None:
        if source.device is not target.device:
            raise DeviceError(
                f"{target.device.name}: a copy from {source.device.name} goes by way of the host",
                fix="move it with .to(device)",
            )
        extra = max(source.ndim - target.ndim, 0)
        if source.shape[:extra] != (1,) * extra or target.shape != np.broadcast_shapes(
            source.shape[extra:], target.shape
        ):
            raise ValueError(f"cannot write {source.shape} into {target.shape}")
        blocks, into, out_of = target.device.blocks, target.window(), source.window()

        def work() -> None:
            block, other = blocks.at(into), blocks.at(out_of)
            values, written = other.values(out_of).copy(), other.marks(out_of).all(axis=-1, keepdims=True)
            registry.get("cpu").copy(block.values(into), values)
            np.copyto(block.marks(into), written.copy())

        target.device.submit(work, [out_of], [into])

    def fill(self, target: FakeArray, value: bool | int | float | complex) -> None:
        blocks, window = target.device.blocks, target.window()
        staged = np.empty((), numpy_dtype(target.dtype))
        registry.get("cpu").fill(staged, value)  # a number that does not fit is refused here and now
        target.device.submit(lambda: blocks.write(window, staged), (), [window])

    def root(self, array: FakeArray) -> Memory:
        return array.memory

    def as_strided(
        self, root: Memory, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> FakeArray:
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if 0 not in shape and not 0 <= offset <= last < root.nbytes // dtype.itemsize:
            raise AssertionError(
                f"as_strided: {dtype.name} {shape}, strides {strides}, offset {offset} "
                f"leaves the memory, which has {root.nbytes} bytes"
            )
        return FakeArray(root, dtype, tuple(shape), _bytes(strides, dtype), offset * dtype.itemsize)

    def data_ptr(self, array: FakeArray) -> int:
        return array.memory.address + array.offset

    def synchronize(self, device: Device) -> None:
        self.devices[device.index or 0].wait_for_all()

    def streams(self, device: Device) -> FakeStreams:
        return self._streams[device.index or 0]

    def memory_stats(self, device: Device) -> MemoryStats:
        return self.devices[device.index or 0].stats()

    def reset_peak_memory_stats(self, device: Device) -> None:
        self.devices[device.index or 0].reset_peak()

    @property
    def kernels(self) -> KernelTable:
        if self._kernels is None:
            self._kernels = make_kernels(self)
        return self._kernels


def _bytes(strides: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    return tuple([stride * dtype.itemsize for stride in strides])
