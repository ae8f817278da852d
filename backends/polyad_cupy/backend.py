"""Tier 0 on CUDA: memory from each device's pool, transfers, strided copies, streams."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupy.cuda import PinnedMemoryPointer, alloc_pinned_memory, runtime

from polyad.backend import Backend, Capabilities, DeviceProperties, KernelTable, MemoryStats
from polyad.backend.waiting import warn_of_waiting
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.devices import registry
from polyad.errors import DeviceError, PolyadError
from polyad.interop.numpy import empty_on_host, numpy_dtype, polyad_dtype
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.indexing import checking
from polyad_kernels.kernels.memory import conversion as copying

from .kernels import KERNELS
from .libraries import cudnn
from .runtime import discovery
from .runtime.cupy_arrays import borrowed, shown
from .runtime.device import Device as CudaDevice, opened, opened_devices
from .runtime.generated import CudaRuntime, runtime_of
from .runtime.markers import CudaMarkers
from .runtime.queues import CudaStreams


class CudaBackend(Backend):
    """All GPUs of the machine; each is opened when it is first used."""

    def device_count(self) -> int:
        return discovery.count()

    def probe(self) -> str:
        return discovery.why_none()

    def device(self, device: Device) -> CudaDevice:
        """What runs on *device*, opened on first use."""
        return opened(device)

    def capabilities(self, device: Device) -> Capabilities:
        pool = opened(device).pool
        return Capabilities(
            features=self.info.capabilities.features, limits={"max_allocation": pool.largest, "memory": pool.limit}
        )

    def describe_device(self, device: Device) -> str:
        return self.device(device).description

    def properties(self, device: Device) -> DeviceProperties:
        found = self.device(device).properties
        return DeviceProperties(
            name=_text(found["name"]),
            total_memory=int(found["totalGlobalMem"]),
            major=int(found["major"]),
            minor=int(found["minor"]),
            multi_processor_count=int(found["multiProcessorCount"]),
            warp_size=int(found["warpSize"]),
            max_threads_per_block=int(found["maxThreadsPerBlock"]),
            max_threads_per_multi_processor=int(found["maxThreadsPerMultiProcessor"]),
            regs_per_multiprocessor=int(found["regsPerMultiprocessor"]),
            shared_memory_per_block=int(found["sharedMemPerBlock"]),
            shared_memory_per_multiprocessor=int(found["sharedMemPerMultiprocessor"]),
            L2_cache_size=int(found["l2CacheSize"]),
            pci_domain_id=int(found["pciDomainID"]),
            pci_bus_id=int(found["pciBusID"]),
            pci_device_id=int(found["pciDeviceID"]),
            is_integrated=int(found["integrated"]),
            is_multi_gpu_board=int(found["isMultiGpuBoard"]),
            uuid=bytes(found["uuid"]).hex(),
        )

    def memory_info(self, device: Device) -> tuple[int, int]:
        on = self.device(device)
        with on.driver("asking for memory"):
            on.enter()
            free, total = runtime.memGetInfo()
        return int(free), int(total)

    def limit_memory(self, device: Device, nbytes: int) -> None:
        self.device(device).pool.set_limit(nbytes)

    def peers(self, device: Device, other: Device) -> bool:
        first, second = self.device(device).index, self.device(other).index
        return first != second and bool(runtime.deviceCanAccessPeer(first, second))

    # ---------------------------------------------------------------------------------------------------- memory

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Array:
        return new(self.device(device), shape, dtype)

    def from_host(self, data: Any, dtype: DType, device: Device) -> Array:
        return self._sent(data, dtype, device, later=False)

    def _sent(self, data: Any, dtype: DType, device: Device, later: bool) -> Array:
        array = new(self.device(device), data.shape, dtype)
        if data.size:
            dense = np.ascontiguousarray(data, numpy_dtype(dtype)).reshape(-1).view(np.uint8)
            array.device.write(array.buffer, dense, later=later)
        return array

    def to_host(self, array: Array) -> Any:
        host = empty_on_host(array.shape, array.dtype)
        self._fetch(array, host)
        return host

    def _fetch(self, array: Array, host: Any) -> None:
        if not host.size:
            warn_of_waiting("reading from the device", array.device)
            array.device.finish()
            return
        array = _dense(array)
        array.device.read(host.reshape(-1).view(np.uint8), array.buffer, array.offset * array.dtype.itemsize)

    def pinned(self, count: int, dtype: DType) -> Any:
        used = numpy_dtype(dtype)
        return np.frombuffer(alloc_pinned_memory(max(1, count * used.itemsize)), used, count)

    def is_pinned(self, data: Any) -> bool:
        while isinstance(data, (np.ndarray, memoryview)):
            data = data.base if isinstance(data, np.ndarray) else data.obj
        return isinstance(data, PinnedMemoryPointer)

    def from_host_later(self, data: Any, dtype: DType, device: Device) -> Array:
        array = self._sent(data, dtype, device, later=True)
        self.device(device).hold(data)
        return array

    def to_host_later(self, array: Array) -> Any:
        count = array.size
        host = self.pinned(count, array.dtype).reshape(array.shape)
        if count:
            array = _dense(array)
            device = array.device
            with device.driver("reading from the device"):
                begin = array.buffer + array.offset * array.dtype.itemsize
                runtime.memcpyAsync(
                    host.ctypes.data, begin, array.nbytes, runtime.memcpyDeviceToHost, device.stream.ptr
                )
            device.hold(host)
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
        begin, rest = divmod(root.offset * root.dtype.itemsize, dtype.itemsize)
        if rest:
            raise DeviceError(
                f"the memory, another library's, begins at no multiple of {dtype.itemsize} bytes: {dtype.name} cannot "
                "be read there",
                fix="copy it first: tensor.clone()",
            )
        return Array(root.block, dtype, shape, strides, begin + offset)

    def data_ptr(self, array: Array) -> int:
        return int(array.buffer + array.offset * array.dtype.itemsize)

    def to_dlpack(self, array: Array, stream: Any, max_version: tuple[int, int] | None) -> Any:
        device = array.device
        with device.driver("sharing memory"), device.stream:
            return shown(array).__dlpack__(stream=stream, max_version=max_version)

    def from_dlpack(self, source: Any, device: Device) -> tuple[Array, DType]:
        on = self.device(device)
        with on.driver("taking over memory"), on.stream:
            found = cupy.from_dlpack(source)
        try:
            dtype = polyad_dtype(found.dtype)
        except PolyadError as error:
            raise BufferError(str(error)) from error
        steps, rest = zip(*[divmod(stride, dtype.itemsize) for stride in found.strides]) if found.ndim else ((), ())
        if any(rest) or min(steps, default=0) < 0:
            raise BufferError("the array's strides are below 0, or between elements: copy it there first")
        try:
            return borrowed(on, int(found.data.ptr), dtype, tuple(found.shape), steps, found), dtype
        except DeviceError as error:
            raise BufferError(str(error)) from error

    def lent(self, address: int, count: int, dtype: DType, owner: Any) -> tuple[Array, Device]:
        if not count:
            on = opened(registry.resolve_device("cuda"))
            return new(on, (0,), dtype), on.name
        found = runtime.pointerGetAttributes(address)
        if not found.type:
            raise DeviceError(f"the address {address:#x} is in no cuda device's memory", fix="copy the array")
        on = opened(Device("cuda", int(found.device)))
        return borrowed(on, address, dtype, (count,), (1,), owner), on.name

    def synchronize(self, device: Device) -> None:
        self.device(device).finish()

    def empty_cache(self) -> None:
        for device in opened_devices():
            device.pool.empty_cache()

    def memory_stats(self, device: Device) -> MemoryStats:
        return self.device(device).pool.stats()

    def reset_peak_memory_stats(self, device: Device) -> None:
        self.device(device).pool.reset_peaks()

    def runtime(self, device: Device) -> CudaRuntime:
        return runtime_of(device)

    def streams(self, device: Device) -> CudaStreams:
        return self.device(device).streams

    def markers(self) -> CudaMarkers:
        return CudaMarkers()

    def library_version(self, name: str) -> int | None:
        if name == "cuda":
            return int(runtime.runtimeGetVersion())
        if name != "cudnn":
            return None
        try:
            return int(cudnn.library().backend_version())
        except OSError:
            return None

    @property
    def kernels(self) -> KernelTable:
        return KERNELS


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _dense(array: Array) -> Array:
    if array.is_dense:
        return array
    copied = new(array.device, array.shape, array.dtype)
    copying.copy(copied, array)
    return copied
