"""Tier 0 on OpenCL: memory from each device's pool, transfers, strided copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Backend, Capabilities, KernelTable, MemoryStats
from polyad.base.device import Device
from polyad.base.dtypes import ALL, DType, complex128, float64
from polyad.interop.numpy import empty_on_host, numpy_dtype
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.indexing import checking
from polyad_kernels.kernels.memory import conversion as copying

from .kernels import KERNELS
from .runtime import discovery
from .runtime.device import Device as OpenCLDevice, opened, opened_devices
from .source.generated import OpenCLRuntime, runtime_of

_NEED_FP64 = frozenset({float64, complex128})


class OpenCLBackend(Backend):
    """All OpenCL devices of the machine; each is opened when it is first used."""

    def device_count(self) -> int:
        return len(discovery.devices())

    def probe(self) -> str:
        return "" if discovery.devices() else discovery.why_none()

    def device(self, device: Device) -> OpenCLDevice:
        """What runs on *device*, opened on first use."""
        return opened(device)

    def capabilities(self, device: Device) -> Capabilities:
        found = opened(device)
        # Not "ordered_results": the second results of optimizer steps lie as the first operand does, and not as the
        # operands that their own expression reads.
        features = {"asynchronous"} if found.divides_exactly else {"asynchronous", "approximate_division"}
        return Capabilities(
            dtypes=frozenset(ALL) if found.has_fp64 else frozenset(ALL) - _NEED_FP64,
            features=frozenset(features),
            limits={"max_allocation": found.pool.largest, "memory": found.pool.limit},
        )

    def runs_on_host(self, device: Device) -> bool:
        return discovery.is_cpu(device.index or 0)

    def describe_device(self, device: Device) -> str:
        return self.device(device).description

    # ---------------------------------------------------------------------------------------------------- memory

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Array:
        return new(self.device(device), shape, dtype)

    def from_host(self, data: Any, dtype: DType, device: Device) -> Array:
        array = new(self.device(device), data.shape, dtype)
        if data.size:
            dense = np.ascontiguousarray(data, numpy_dtype(dtype)).reshape(-1).view(np.uint8)
            array.device.write(array.buffer, dense)
        return array

    def to_host(self, array: Array) -> Any:
        host = empty_on_host(array.shape, array.dtype)
        if not host.size:
            array.device.finish()
            return host
        if not array.is_dense:
            dense = new(array.device, array.shape, array.dtype)
            copying.copy(dense, array)
            array = dense
        array.device.read(host.reshape(-1).view(np.uint8), array.buffer, array.offset * array.dtype.itemsize)
        return host

    def copy(self, target: Array, source: Array) -> None:
        copying.copy(target, source)

    def fill(self, target: Array, value: bool | int | float | complex) -> None:
        copying.fill(target, value)

    def check_all(self, good: Array, value: Array | None, error: Any) -> None:
        checking.check_all(good, value, error)

    def root(self, array: Array) -> Array:
        return array

    def as_strided(
        self, root: Array, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> Array:
        # A dense array may begin inside of its block, by whole elements of another size.
        begin = root.offset * root.dtype.itemsize // dtype.itemsize
        return Array(root.block, dtype, shape, strides, begin + offset)

    def data_ptr(self, array: Array) -> int:
        # Not an address, but as different: blocks are numbered, and none has 2**40 bytes.
        return (array.block.number << 40) + array.offset * array.dtype.itemsize

    def synchronize(self, device: Device) -> None:
        self.device(device).finish()

    def empty_cache(self) -> None:
        for device in opened_devices():
            device.empty_cache()

    def memory_stats(self, device: Device) -> MemoryStats:
        return self.device(device).pool.stats()

    def reset_peak_memory_stats(self, device: Device) -> None:
        self.device(device).pool.reset_peaks()

    def runtime(self, device: Device) -> OpenCLRuntime:
        return runtime_of(device)

    @property
    def kernels(self) -> KernelTable:
        return KERNELS
