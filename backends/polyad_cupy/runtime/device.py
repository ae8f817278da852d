"""One GPU in use: launches, transfers, waiting, and what goes wrong there.

Work of a thread goes to the stream that it selected. A call returns when its work is enqueued; what goes wrong late is
told by the next call that waits. A kernel that read or wrote where it may not ends the device for this process: the
error names what was launched last, and every later use says so; what lies on the host can still be saved.

Arguments of a kernel are packed bytes, as the driver takes them: no type of an argument is guessed.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from cupy.cuda import Event, Stream, driver as _driver, runtime

from polyad.backend.waiting import warn_of_waiting
from polyad.base.device import Device as DeviceName
from polyad.base.locks import Lock, RLock
from polyad.errors import DeviceError, KernelFailure, PolyadError
from polyad_kernels.checks import MOST, Checks
from polyad_kernels.kept import kept
from polyad_kernels.spelling import cuda

from ..libraries.proofs import Proofs
from ..libraries.wheels import missing
from . import discovery
from .memory import Pool
from .programs import Programs
from .recording import Recordings

if TYPE_CHECKING:
    from .generated import CudaRuntime
    from .queues import CudaStreams
    from .recording import Recording

PARAMETERS = {
    "p": "P",
    "b": "b",
    "B": "B",
    "h": "h",
    "H": "H",
    "i": "i",
    "I": "I",
    "q": "q",
    "Q": "Q",
    "f": "f",
    "d": "d",
}
"""How `Device.kernel` is told a kernel's parameters, and how the struct module writes them."""

_POINTER, _SIZE, _END = 1, 2, 0
"""CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END."""

_MOST_ARGUMENTS = 4096
"""Bytes of a kernel's arguments: the driver takes no more on any device."""

_LOST = (
    "ILLEGAL_ADDRESS", "MISALIGNED", "ILLEGAL_INSTRUCTION", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "ASSERT", "INVALID_PC",
    "HARDWARE_STACK", "ECC", "IllegalAddress", "Misaligned", "IllegalInstruction", "LaunchFailure", "LaunchTimeout",
    "HardwareStack",
)  # fmt: skip
"""Parts of the names of errors after which a context is of no use."""

_NO_ROOM = ("OUT_OF_MEMORY", "MemoryAllocation", "ALLOC_FAILED")
"""Parts of the names of errors for want of memory: of the driver, of its runtime, of libraries."""

_INSTEAD_OF_FORK = "start worker processes with the start method spawn or forkserver"
_REMEMBERED = 16
_DRIVERS = (_driver.CUDADriverError, runtime.CUDARuntimeError)
_FROM_HOST, _TO_HOST, _ON_DEVICE = (
    runtime.memcpyHostToDevice,
    runtime.memcpyDeviceToHost,
    runtime.memcpyDeviceToDevice,
)


_CAPTURING = "is capturing this thread's work into a graph"
_WAITS_FOR_VALUES = "item(), tolist(), cpu(), print, nonzero(), a mask as an index, synchronize()"


class OfThread(threading.local):
    """What each thread has on a device: its stream, and where it packs the arguments of a launch.

    Attributes:
        recording: the capture that goes on, if one does.
        place: the address of the arguments; size: their bytes; extra: the address of what the driver is given.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.recording: Recording | None = None
        self.entered = False
        packed = ctypes.create_string_buffer(_MOST_ARGUMENTS)
        self.place, self.size = ctypes.addressof(packed), ctypes.c_size_t(0)
        extra = (ctypes.c_void_p * 5)(_POINTER, self.place, _SIZE, ctypes.addressof(self.size), _END)
        self.extra = ctypes.addressof(extra)
        self._alive = packed, extra


class Launcher:
    """A kernel of `polyad_kernels`: ``launcher(global_size, *arguments)``."""

    __slots__ = ("_device", "_function", "_pack", "local", "what")

    def __init__(self, device: Device, function: int, pack: Any, local: int, what: str) -> None:
        self._device, self._function, self._pack, self.local, self.what = device, function, pack, local, what

    def __call__(self, size: tuple[int, ...], *arguments: Any) -> None:
        """Enqueue it over *size* work-items, a multiple of the local size; does not wait."""
        self._device.launch(self._function, size[0] // self.local, self.local, self._pack(*arguments), self.what)


class Device:
    """Device number *index*. Raises DeviceError if the driver gives no context.

    Attributes:
        thread: what the calling thread has here.
    """

    is_cpu = False
    has_fp64 = True

    def __init__(self, index: int) -> None:
        self.index = index
        self.name = DeviceName("cuda", index)
        self.trouble = ""
        self.lock = RLock()
        self.default = Stream.null
        self.thread = OfThread(self.default)
        self._launched: deque[str] = deque(maxlen=_REMEMBERED)
        self._held: deque[tuple[Any, Any]] = deque()
        self.many = discovery.count() > 1
        with self.driver("opening the device"):
            runtime.setDevice(index)
            self.properties: dict[str, Any] = runtime.getDeviceProperties(index)
            self.architecture = f"{self.properties['major']}{self.properties['minor']}"
            self.compute_units = int(self.properties["multiProcessorCount"])
            self.max_local_size = int(self.properties["maxThreadsPerBlock"])
            self.pool = Pool(self)
            self.programs = Programs(self)
            self._cell = self.pool.take(24)
            self.trouble_cell = self._cell.buffer
            runtime.memsetAsync(self.trouble_cell, 0, 24, 0)
        identity = f"{self.properties['name']!r}\0{self.architecture}\0{runtime.driverGetVersion()}"
        self.proofs = Proofs(identity, lambda: self.thread.recording is not None)
        self.recordings = Recordings(self)
        self.checks = Checks(self.lock, lambda: self.thread.stream.ptr)
        self.expect = self.checks.expect

    def __str__(self) -> str:
        return str(self.name)

    @property
    def stream(self) -> Any:
        """The stream to which this thread's work goes."""
        return self.thread.stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        self.thread.stream = stream

    @property
    def recording(self) -> Recording | None:
        """The capture of this thread's work that goes on, if one does."""
        return self.thread.recording

    @recording.setter
    def recording(self, recording: Recording | None) -> None:
        self.thread.recording = recording

    @property
    def generated(self) -> CudaRuntime:
        """What runs generated kernels here."""
        return _generated(self)

    @property
    def streams(self) -> CudaStreams:
        """What `polyad.Stream` asks."""
        return _streams(self)

    @property
    def description(self) -> str:
        """Name, memory, architecture, driver."""
        name = self.properties["name"]
        name = name.decode() if isinstance(name, bytes) else name
        return (
            f"{name}, {self.pool.total / 2**30:.1f} GiB, "
            f"compute capability {self.architecture[:-1]}.{self.architecture[-1]}, "
            f"driver for CUDA {discovery.version(runtime.driverGetVersion())}{self.proofs.told}"
        )

    def enter(self) -> None:
        """Let the driver's calls of this thread go to this device."""
        if self.trouble:
            self.check_usable()
        if self.many or not self.thread.entered:
            try:
                runtime.setDevice(self.index)
            except _DRIVERS as error:
                raise self.explained(error, "choosing the device") from error
            self.thread.entered = True

    # ---------------------------------------------------------------------------------------------------- launching

    def kernel(
        self, source: str, name: str, parameters: str, *, what: str, local: tuple[int, ...] = (1,), options: str = ""
    ) -> Launcher:
        """Kernel *name* of *source*, OpenCL C as `polyad_kernels.spelling` says.

        Args:
            parameters: a letter each, see `PARAMETERS`.
            what: op and signature, for errors: "add float32 float32".
            local: the threads of a block.

        Raises CompilerFailure, with log and source, if NVRTC does not compile it.
        """
        with self.driver(what):
            function = self.programs.function(cuda(source), name, what)
        form = struct.Struct("@" + "".join([PARAMETERS[letter] for letter in parameters]))
        return Launcher(self, function, form.pack, local[0], what)

    def launch(self, function: int, blocks: int, threads: int, arguments: bytes, what: str) -> None:
        """Enqueue *blocks* of *threads* of a kernel, with its arguments as they lie in memory."""
        self.enter()
        thread, size = self.thread, len(arguments)
        if size > _MOST_ARGUMENTS:
            raise KernelFailure(f"{what}: {size:,} bytes of arguments; a kernel takes {_MOST_ARGUMENTS:,}")
        ctypes.memmove(thread.place, arguments, size)  # the driver copies them while it is called
        thread.size.value = size
        self._launched.append(what)
        try:
            _driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, 0, thread.stream.ptr, 0, thread.extra)
        except _DRIVERS as error:
            raise self.explained(error, what) from error

    # ---------------------------------------------------------------------------------------------------- transfers

    def read(self, host: Any, address: int, begin: int) -> None:
        """Fill the dense uint8 array *host* from byte *begin* of *address*, after this thread's work."""
        self.check_waiting("reading from the device")
        warn_of_waiting("reading from the device", self)
        with self.driver("reading from the device"):
            stream = self.stream
            runtime.memcpyAsync(host.ctypes.data, address + begin, host.nbytes, _TO_HOST, stream.ptr)
            self._settled(stream, self.checks.past(stream.ptr))

    def write(self, address: int, host: Any, begin: int = 0, later: bool = False) -> None:
        """Copy the dense uint8 array *host* to byte *begin* of *address*.

        *host* may be changed afterwards; with *later* only once this thread's stream has come to here. The driver sets
        what lies in ordinary memory aside while it is called, and reads page-locked memory in the stream's order: that
        is waited for, whoever locked it.
        """
        if self.thread.recording:
            raise DeviceError(
                f"writing to the device: {self} {_CAPTURING}, which keeps no memory of the host",
                fix="create the tensor before the capture, run the work once before it, and copy new values into the "
                "tensor between replays",
            )
        source, stream = host.ctypes.data, self.stream
        with self.driver("writing to the device"):
            runtime.memcpyAsync(address + begin, source, host.nbytes, _FROM_HOST, stream.ptr)
            if not later and runtime.pointerGetAttributes(source).type:
                warn_of_waiting("writing page-locked memory to the device", self)
                stream.synchronize()

    def copy(self, target: int, source: int, *, src_offset: int, dst_offset: int, byte_count: int) -> None:
        """Copy bytes on the device."""
        with self.driver("copying on the device"):
            runtime.memcpyAsync(target + dst_offset, source + src_offset, byte_count, _ON_DEVICE, self.stream.ptr)

    def fill(self, address: int, pattern: Any, begin: int, size: int) -> None:
        """Repeat the bytes *pattern* over *size* bytes of *address*, from byte *begin* on."""
        data = pattern.tobytes()
        if data == data[:1] * len(data):
            with self.driver("filling on the device"):
                runtime.memsetAsync(address + begin, data[0], size, self.stream.ptr)
            return
        count = size // len(data)
        blocks = min(-(-count // 128), 32 * self.compute_units)
        _filling(self, len(data))((blocks * 128,), address + begin, count, *struct.unpack(_PATTERNS[len(data)], data))

    def hold(self, host: Any) -> None:
        """Keep *host*, page-locked memory, until this thread's stream has come to here: others may be given it."""
        if self.thread.recording:
            self.thread.recording.kept[id(host)] = host
            return
        with self.driver("copying page-locked memory"), self.lock:
            event = Event(disable_timing=True)
            event.record(self.stream)
            self._held.append((event, host))
            while self._held and self._held[0][0].done:
                self._held.popleft()

    # ---------------------------------------------------------------------------------------------------- waiting

    def finish(self) -> None:
        """Wait until everything on the device is done, then raise what kernels noted."""
        self.check_waiting("waiting for the device")
        with self.driver("waiting for the device"):
            runtime.deviceSynchronize()
            self._settled(self.stream, self.checks.past())

    def wait(self, stream: Any) -> None:
        """Wait until everything in *stream* is done, then raise what kernels noted."""
        self.check_waiting("waiting for a stream")
        with self.driver("waiting for a stream"):
            self._settled(stream, self.checks.past(stream.ptr))

    def _settled(self, stream: Any, past: list[int]) -> None:
        """Wait for *stream*, in or before which the kernels numbered in *past* are, then raise what kernels noted."""
        if not self.checks:
            stream.synchronize()
            return
        found = np.empty(3, np.int64)
        runtime.memcpyAsync(found.ctypes.data, self.trouble_cell, 24, _TO_HOST, stream.ptr)
        stream.synchronize()
        self.checks.settle(past, found.tolist(), lambda: runtime.memsetAsync(self.trouble_cell, 0, 24, stream.ptr))

    def verify(self) -> None:
        """To be called after a checking kernel was enqueued: what it noted is read when the host waits next."""
        if len(self.checks) >= MOST and not self.thread.recording:
            self.finish()

    def check_waiting(self, what: str) -> None:
        """Raise DeviceError if this thread's work is captured, so that waiting for it would never end."""
        if self.thread.recording:
            raise DeviceError(
                f"{what}: {self} {_CAPTURING}: none of it is done before the graph is replayed",
                fix=f"take what waits for values out of the capture: {_WAITS_FOR_VALUES}",
            )

    def check_library(self, what: str, library: str, instead: str) -> None:
        """Raise DeviceError if this thread's work is captured, which CuPy's calls of *library* do not allow."""
        if self.thread.recording:
            raise DeviceError(f"{what}: {self} {_CAPTURING}, and CuPy does not let {library} be captured", fix=instead)

    # ---------------------------------------------------------------------------------------------------- failures

    def check_usable(self) -> None:
        """Raise DeviceError if the device was lost or the process was forked."""
        if self.trouble:
            raise DeviceError(
                f"{self}: {self.trouble}",
                fix=_INSTEAD_OF_FORK
                if "fork" in self.trouble
                else "save what lies on the host, and start the program again to use this device",
            )

    @contextmanager
    def driver(self, what: str) -> Iterator[None]:
        """Calls of the driver on this device, whose errors are polyad's."""
        if self.trouble:
            self.check_usable()
        try:
            if self.many:
                runtime.setDevice(self.index)
            yield
        except _DRIVERS as error:
            raise self.explained(error, what) from error
        except (ImportError, RuntimeError) as error:
            told = missing(error, what, runtime.runtimeGetVersion() // 1000)
            if told is None:
                raise
            raise told from error

    def explained(self, error: Exception, what: str) -> PolyadError:
        """The error to raise for the driver's."""
        said = str(error)
        if any(part in said for part in _LOST):
            launched = ", ".join(dict.fromkeys(reversed(self._launched))) or "nothing"
            self.trouble = f"the device was lost ({said})"
            return DeviceError(
                f"{what}: {self} was lost",
                notes={"driver": said, "launched last": launched},
                fix="save what lies on the host; to see which op it was, start the program again with the variable "
                "CUDA_LAUNCH_BLOCKING=1",
            )
        if any(part in said for part in _NO_ROOM):
            return self.pool.full(
                None,
                f"{what}: {said}",
                "free tensors, then call polyad.cuda.empty_cache(): driver and libraries allocate beside polyad",
            )
        return KernelFailure(
            f"{what}: {self} failed",
            notes={"driver": said},
            fix="report it to polyad: the driver refused, or could not do, what it was told",
        )


_PATTERNS = {1: "B", 2: "H", 4: "I", 8: "Q", 16: "QQ"}
_FILLED = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}


@kept
def _filling(device: Device, width: int) -> Launcher:
    value = "NEW(ulong2)(first, second)" if width == 16 else "first"
    part = "ulong" if width == 16 else _FILLED[width]
    source = f"""
__kernel void filling(__global {_FILLED[width]} *out, long count, {part} first{", ulong second" if width == 16 else ""})
{{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) out[i] = {value};
}}
"""
    return device.kernel(source, "filling", "pq" + _PATTERNS[width], what="fill", local=(128,))


@kept
def _generated(device: Device) -> CudaRuntime:
    from .generated import CudaRuntime

    return CudaRuntime(device)


@kept
def _streams(device: Device) -> CudaStreams:
    from .queues import CudaStreams

    return CudaStreams(device)


_by_index: dict[int, Device] = {}
_opening = Lock()
_forked = False


def opened(name: DeviceName) -> Device:
    """What runs on device *name* of the backend, opened on first use."""
    index = name.index or 0
    found = _by_index.get(index)
    if found is None:
        if _forked:
            raise DeviceError(
                f"{name}: this process was forked from one that had used CUDA, which it does not survive",
                fix=_INSTEAD_OF_FORK,
            )
        with _opening:
            if index not in _by_index:
                _by_index[index] = Device(index)
            found = _by_index[index]
    return found


def opened_devices() -> list[Device]:
    """The devices in use."""
    return list(_by_index.values())


def _after_fork() -> None:
    global _forked
    _forked = discovery.looked()
    for device in _by_index.values():
        device.trouble = "this process was forked from one that had used the device, which CUDA does not survive"


os.register_at_fork(after_in_child=_after_fork)
