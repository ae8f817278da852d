"""Running generated kernels: the device's side of `polyad.backend.runtime`, over pyopencl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import pyopencl as cl

from polyad.backend.runtime import Launch
from polyad.base.device import Device as DeviceName
from polyad.codegen import CPU, GPU, OPENCL_C, DeviceDescription, KernelSource
from polyad.devices import registry
from polyad_kernels.array import Array
from polyad_kernels.memo import memoize
from polyad_kernels.runtime import ArrayRuntime

from ..runtime.device import opened

_enqueue = cl.enqueue_nd_range_kernel
_buffer = attrgetter("buffer")
_PAIRS: dict[int, Callable[..., tuple[Any, ...]]] = {
    1: lambda a: (0, a.buffer),
    2: lambda a, b: (0, a.buffer, 1, b.buffer),
    3: lambda a, b, c: (0, a.buffer, 1, b.buffer, 2, c.buffer),
    4: lambda a, b, c, d: (0, a.buffer, 1, b.buffer, 2, c.buffer, 3, d.buffer),
}
"""For how many arrays there are: each one's number and buffer, in a quarter of the time of `_numbered_buffers`."""
_SMALLEST_CACHE = 1 << 24
"""Bytes; some drivers tell only of a second-level cache."""


@memoize
def description(device: Any) -> DeviceDescription:
    """What the generator is told of *device*."""
    return DeviceDescription(
        kind=CPU if device.is_cpu else GPU,
        compute_units=device.compute_units,
        max_local_size=device.max_local_size,
        has_fp64=device.has_fp64,
        has_fp16=device.has_fp16,
        cache_bytes=max(_SMALLEST_CACHE, device.handle.global_mem_cache_size),
    )


@memoize
def runtime_on(device: Any) -> OpenCLRuntime:
    """What runs generated kernels on *device*, a `runtime.device.Device`."""
    return OpenCLRuntime(device)


def runtime_of(device: DeviceName) -> OpenCLRuntime:
    """What runs generated kernels on *device*, as core names it."""
    return runtime_on(opened(device))


def _numbered_buffers(*arrays: Array) -> tuple[Any, ...]:
    """The number and buffer of each array, as PyOpenCL takes arguments."""
    return tuple(chain.from_iterable(enumerate(map(_buffer, arrays))))


class Compiled:
    """A kernel object, how many instances share local memory (1 if none do), and what it is for.

    Attributes:
        passed: the numbers and the geometry that the kernel object has as its last arguments.
    """

    __slots__ = ("group", "kernel", "passed", "what")

    def __init__(self, kernel: cl.Kernel, group: int, what: str) -> None:
        self.kernel, self.group, self.what = kernel, group, what
        self.passed: tuple[Any, Any] = (None, None)


class OpenCLRuntime(ArrayRuntime):
    """Generated kernels on *device*, a `runtime.device.Device`."""

    dialect = OPENCL_C

    def __init__(self, device: Any) -> None:
        super().__init__(registry.get("opencl"), device.name)
        self.on = device
        self.description = description(device)
        self._take = device.pool.take

    def compile(self, source: KernelSource, what: str) -> Compiled:
        try:
            return Compiled(self.on.programs.kernel(source.text, source.name, what), source.group, what)
        except cl.Error as error:
            raise self.on.explained(error, what) from error

    def launcher(self, kernel: Compiled, instances: int, geometry: bytes) -> Launch:
        device, handle, what = self.on, kernel.kernel, kernel.what
        local = kernel.group if kernel.group > 1 else self.description.local_size
        global_size, local_size = (-(-instances // local) * local,), (local,)
        lock, queue = device.lock, device.queue

        def launch(arrays: Sequence[Array], numbers: tuple[bytes, ...]) -> None:
            if device.trouble:
                device.check_usable()
            buffers = _PAIRS.get(len(arrays), _numbered_buffers)(*arrays)
            try:
                with lock:
                    handle._set_arg_multi(buffers)
                    before = kernel.passed
                    if before[0] is not numbers or before[1] is not geometry:
                        kernel.passed = (None, None)
                        rest = enumerate((*numbers, geometry), len(arrays))
                        handle._set_arg_buf_multi(tuple(chain.from_iterable(rest)))
                        kernel.passed = numbers, geometry
                    _enqueue(queue, handle, global_size, local_size)
            except cl.Error as error:
                raise device.explained(error, what) from error

        return launch
