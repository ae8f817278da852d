"""One OpenCL device in use: its context, its queue, launches, and what goes wrong there.

All work goes through one queue in order, so nothing needs to wait for anything but the host for values. Threads share
it: a kernel's arguments are set and enqueued under a lock.

A device that cannot be used any more (it was lost, or this process was forked after it was used, which leaves the
driver's threads behind) says so at every use; other devices go on.

Kernels cannot raise. One that meets a wrong index notes it (`polyad_kernels.checks`), and the host looks there: at once
where that is cheap, on devices in the host's memory; else when it next reads a value or synchronises.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl

from polyad.backend.runtime import Runtime
from polyad.base.device import Device as DeviceName
from polyad.base.locks import Lock, RLock
from polyad.errors import DeviceError, KernelFailure, OutOfMemory, PolyadError
from polyad.files.compiled import CACHE_VARIABLE
from polyad.interop.numpy import numpy_dtype
from polyad_kernels.checks import MOST, Checks
from polyad_kernels.spelling import OPENCL_C

from . import discovery
from .folder import pocl_cache, remove_pocls
from .memory import Pool
from .programs import Programs
from .transfers import Transfers

PARAMETERS: dict[str, Any] = {
    "p": None,
    "b": np.int8,
    "B": np.uint8,
    "h": np.int16,
    "H": np.uint16,
    "i": np.int32,
    "I": np.uint32,
    "q": np.int64,
    "Q": np.uint64,
    "f": np.float32,
    "d": np.float64,
    "F": np.complex64,
    "D": np.complex128,
}
"""How `Device.kernel` is told a kernel's parameters: a letter each, "p" for a buffer, else as in the struct module."""

_STATUS = cl.status_code
_LOST = {
    _STATUS.DEVICE_NOT_AVAILABLE,
    _STATUS.INVALID_COMMAND_QUEUE,
    _STATUS.INVALID_CONTEXT,
    _STATUS.INVALID_DEVICE,
    -9999,  # NVIDIA's, after a kernel that read or wrote where it may not
}
_FULL = {_STATUS.MEM_OBJECT_ALLOCATION_FAILURE, _STATUS.OUT_OF_HOST_MEMORY}
_FIXES = {
    _STATUS.OUT_OF_RESOURCES: "the device's registers, local memory or time are not enough: use smaller tensors, close "
    "other programs that use it, or start this one again",
    _STATUS.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: "work that was enqueued before has failed: start the program "
    "again, and call polyad.accelerator.synchronize() after each step to see which",
    _STATUS.BUILD_PROGRAM_FAILURE: "update the driver; if it is new, report it to polyad",
    _STATUS.COMPILE_PROGRAM_FAILURE: "update the driver; if it is new, report it to polyad",
    _STATUS.LINK_PROGRAM_FAILURE: "install what the driver links with; for PoCL that is binutils",
    _STATUS.INVALID_BINARY: f"delete the folder of kept kernels, or set {CACHE_VARIABLE} to another",
    _STATUS.MAP_FAILURE: "free host memory; if there is enough, report it, with the device's driver",
}
"""What to do about other errors; what is in neither is a mistake of polyad's or the driver's."""


_INSTEAD_OF_FORK = "start worker processes with the start method spawn or forkserver, before or after using the device"


class Launcher:
    """A compiled kernel, ready to be enqueued: ``launcher(global_size, *arguments)``."""

    __slots__ = ("_device", "_kernel", "_lock", "local", "what")

    def __init__(self, device: Device, kernel: cl.Kernel, local: tuple[int, ...], what: str) -> None:
        self._device = device
        self._kernel = kernel
        self._lock = device.lock
        self.local = local
        self.what = what

    def __call__(self, size: tuple[int, ...], *arguments: Any) -> None:
        """Enqueue it over *size* work-items, a multiple of the local size in each dimension; does not wait."""
        device = self._device
        if device.trouble:
            device.check_usable()
        try:
            with self._lock:
                self._kernel(device.queue, size, self.local, *arguments)
        except cl.Error as error:
            raise device.explained(error, self.what) from error


class DriverCalls:
    """Which threads are in a call of the driver that lets other threads run: ``with device.calls: ...``.

    When the interpreter ends, a daemon thread that comes back from such a call is stopped right there, inside of the
    driver's C++, which aborts the process. So `_at_exit` waits for them, and a thread that comes later ends.
    """

    __slots__ = ("_device", "inside")

    def __init__(self, device: Device) -> None:
        self._device = device
        self.inside: list[int] = []

    def __enter__(self) -> None:
        thread = threading.get_ident()
        self.inside.append(thread)
        if self._device.trouble:
            self.inside.remove(thread)
            self._device.check_usable()
            self.inside.append(thread)

    def __exit__(self, *_: object) -> None:
        self.inside.remove(threading.get_ident())


class Device:
    """Device number *index* of the backend. Raises DeviceError if the driver gives no context."""

    def __init__(self, index: int, handle: cl.Device) -> None:
        self.index = index
        self.name = DeviceName("opencl", index)
        self.handle = handle
        self.trouble = ""
        self.calls = DriverCalls(self)
        self.lock = RLock()
        self.shares_host_memory = bool(handle.host_unified_memory)
        self.is_cpu = bool(handle.type & cl.device_type.CPU)
        self.has_fp64 = bool(getattr(handle, "double_fp_config", 0))
        self.has_fp16 = "cl_khr_fp16" in handle.extensions.split()
        # Processors have an instruction for it; others are free to be off by 2.5 units unless they are told.
        exact = getattr(handle, "single_fp_config", 0) & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        self.divides_exactly = self.is_cpu or bool(exact)
        self.compiler_options = "" if self.is_cpu or not exact else "-cl-fp32-correctly-rounded-divide-sqrt "
        self.compute_units = int(handle.max_compute_units)
        self.max_local_size = int(handle.max_work_group_size)
        try:
            self.context = cl.Context([handle])
            self.queue = cl.CommandQueue(self.context, handle)
            self.trouble_cell = cl.Buffer(
                self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(3, np.int64)
            )
        except cl.Error as error:
            raise self.explained(error, "opening the device") from error
        self.pool = Pool(self)
        self.programs = Programs(self)
        self.transfers = Transfers(self)
        self.checks = Checks(self.lock)
        self.expect = self.checks.expect
        _opened.append(self)

    def __str__(self) -> str:
        return str(self.name)

    @property
    def generated(self) -> Runtime:
        """What runs generated kernels here."""
        from ..source.generated import runtime_on

        return runtime_on(self)

    @property
    def description(self) -> str:
        """Name, platform, driver and memory."""
        handle = self.handle
        return (
            f"{handle.name.strip()}, {handle.platform.name.strip()}, driver {handle.driver_version}, "
            f"{handle.global_mem_size / 2**30:.1f} GiB"
        )

    # ---------------------------------------------------------------------------------------------------- launching

    def kernel(
        self, source: str, name: str, parameters: str, *, what: str, local: tuple[int, ...] = (1,), options: str = ""
    ) -> Launcher:
        """Kernel *name* of *source*.

        Args:
            parameters: a letter each, see `PARAMETERS`.
            what: op and signature, for errors: "add float32 float32".
            local: the local size of every launch. PoCL compiles anew for each, so it is fixed.

        Raises RuntimeError (KernelFailure), with log and source, if the driver does not compile it.
        """
        self.check_usable()
        program = self.programs.get(OPENCL_C + source, options, what)
        try:
            kernel = cl.Kernel(program, name)
            kernel.set_scalar_arg_dtypes([PARAMETERS[letter] for letter in parameters])
        except cl.Error as error:
            raise self._without_kernel(error, name, what) from error
        return Launcher(self, kernel, local, what)

    def _without_kernel(self, error: cl.Error, name: str, what: str) -> PolyadError:
        """The error for a program that was built and has no kernel *name*."""
        found = self.explained(error, what)
        if getattr(error, "code", 0) == cl.status_code.INVALID_KERNEL_NAME:
            found.lines["program"] = f"built, and has no kernel {name}"
            if self.handle.platform.name == discovery.POCL:
                found.fix = f"delete PoCL's cache {pocl_cache()}: a process that was killed damaged it"
        return found

    def finish(self) -> None:
        """Wait until everything enqueued is done, then raise what kernels noted."""
        try:
            with self.calls:
                if self.checks:
                    self._judge(*self._notes())  # in order, so that all else is done when they are here
                else:
                    self.queue.finish()
        except cl.Error as error:
            raise self.explained(error, "waiting for the device") from error

    def empty_cache(self) -> None:
        """Give memory that is kept for later back to the driver: free blocks, and what transfers go through.

        Nothing of a device that cannot be used any more: its driver is not to be asked.
        """
        if self.trouble:
            return
        try:
            with self.calls:
                self.pool.empty_cache()
                self.transfers.empty_cache()
        except cl.Error as error:
            raise self.explained(error, "giving memory back") from error

    # ---------------------------------------------------------------------------------------------------- transfers

    def read(self, host: Any, buffer: cl.Buffer, begin: int) -> None:
        """Fill the dense uint8 array *host* from byte *begin* of *buffer*, after all work that was enqueued."""
        try:
            with self.calls:
                notes = self._notes() if self.checks else None
                self.transfers.read(host, buffer, begin)
                if notes:
                    self._judge(*notes)
        except cl.Error as error:
            raise self.explained(error, "reading from the device") from error

    def write(self, buffer: cl.Buffer, host: Any, begin: int = 0) -> None:
        """Copy the dense uint8 array *host* to byte *begin* of *buffer*; *host* may be changed afterwards."""
        try:
            with self.calls:
                self.transfers.write(buffer, host, begin)
        except cl.Error as error:
            raise self.explained(error, "writing to the device") from error

    def copy(self, target: cl.Buffer, source: cl.Buffer, **where: Any) -> None:
        """Copy between buffers; *where* as `pyopencl.enqueue_copy` has it."""
        self.check_usable()
        try:
            cl.enqueue_copy(self.queue, target, source, **where)
        except cl.Error as error:
            raise self.explained(error, "copying on the device") from error

    def fill(self, buffer: cl.Buffer, pattern: Any, begin: int, size: int) -> None:
        """Repeat the bytes *pattern* over *size* bytes of *buffer*, from byte *begin* on."""
        self.check_usable()
        try:
            cl.enqueue_fill_buffer(self.queue, buffer, pattern, begin, size)
        except cl.Error as error:
            raise self.explained(error, "filling on the device") from error

    @contextmanager
    def mapped(self, array: Any, write: bool = False) -> Iterator[Any]:
        """*array* as a `numpy.ndarray` over the device's own memory, once it is computed; to be written if *write*.

        For devices that share the host's memory: nothing moves there.
        """
        size = array.dtype.itemsize
        reach = sum([(count - 1) * step for count, step in zip(array.shape, array.steps)]) + 1
        flags = cl.map_flags.READ | cl.map_flags.WRITE if write else cl.map_flags.READ
        try:
            with self.calls:
                memory = self.transfers.map(array.buffer, flags, array.offset * size, reach * size)
        except cl.Error as error:
            raise self.explained(error, "mapping the device's memory") from error
        try:
            yield np.ndarray(array.shape, numpy_dtype(array.dtype), memory, 0, array.strides)
        finally:
            try:
                memory.base.release(self.queue)
            except cl.Error as error:
                raise self.explained(error, "unmapping the device's memory") from error

    # ---------------------------------------------------------------------------------------------------- checks

    def verify(self) -> None:
        """To be called after a checking kernel was enqueued: raises its error now if that is cheap here."""
        if self.shares_host_memory or len(self.checks) >= MOST:
            self.finish()

    def _notes(self) -> tuple[list[int], Any, Any]:
        """The numbers of kernels that are enqueued, and the cell as they leave it, with its arrival's event."""
        with self.lock:
            past, found = self.checks.past(), np.empty(3, np.int64)
            return past, found, cl.enqueue_copy(self.queue, found, self.trouble_cell, is_blocking=False)

    def _judge(self, past: list[int], found: Any, arrival: Any) -> None:
        """Raise what is in the cell, if anything, and forget the kernels numbered in *past*."""
        arrival.wait()
        empty = np.zeros(3, np.int64)
        self.checks.settle(past, found.tolist(), lambda: cl.enqueue_copy(self.queue, self.trouble_cell, empty))

    # ---------------------------------------------------------------------------------------------------- failures

    def check_usable(self) -> None:
        """Raise DeviceError if the device was lost or the process was forked, SystemExit in threads that outlive the
        interpreter.
        """
        if self.trouble == _CLOSING:
            if threading.get_ident() != _closing_thread:
                raise SystemExit  # ends a daemon thread, without a word
        elif self.trouble:
            raise DeviceError(
                f"{self}: {self.trouble}",
                fix=_INSTEAD_OF_FORK
                if "fork" in self.trouble
                else "other devices still work; start the program again to use this one",
            )

    def explained(self, error: cl.Error, what: str) -> PolyadError:
        """The error to raise for the driver's."""
        code = error.code if hasattr(error, "code") else 0
        if code in _LOST:
            self.trouble = f"the device was lost ({error})"
            return DeviceError(
                f"{what}: {self} was lost",
                notes={"driver": str(error)},
                fix="other devices still work; start the program again to use this one",
            )
        if code in _FULL:
            return OutOfMemory(
                f"{what}: {self} has not enough memory",
                notes={"driver": str(error)},
                fix="use smaller batches or delete tensors that are not needed",
            )
        said = f"{str(error) or type(error).__name__}, {self.description}"
        fix = _FIXES.get(code) or "report it to polyad: a driver refused, or could not do, what it was told"
        return KernelFailure(f"{what}: {self} failed", notes={"driver": said}, fix=fix)


_opened: list[Device] = []


_CLOSING = "the interpreter is ending"
_closing_thread = 0


def _at_exit() -> None:
    global _closing_thread
    _closing_thread = threading.get_ident()
    for device in _opened:
        device.trouble = device.trouble or _CLOSING
    latest = time.monotonic() + 10
    while time.monotonic() < latest and any(
        thread != _closing_thread for device in _opened for thread in device.calls.inside
    ):
        time.sleep(0.001)
    for device in _opened:
        try:
            device.programs.save_all()
            if device.trouble == _CLOSING:
                device.queue.finish()
        except Exception:
            pass  # nobody is left to tell
        _keep_for_ever(device)
    remove_pocls()


def _keep_for_ever(device: Device) -> None:
    """Never give back what the device holds: the process ends, and drivers complain about contexts that are released
    before the kernels that Python still holds, or wait for threads that are gone.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(device))


def _after_fork() -> None:
    # The driver's threads stayed in the parent: anything asked of it here would wait for them for ever. What it holds
    # is kept, since giving it back asks the driver too. PoCL starts threads when devices are looked for.
    global _looked_for_by_parent
    _looked_for_by_parent = discovery.devices.cache_info().currsize > 0
    for device in _opened:
        device.trouble = "this process was forked from one that had used the device, which drivers do not survive"
        _keep_for_ever(device)
    atexit.unregister(_at_exit)


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)


_looked_for_by_parent = False
_by_index: dict[int, Device] = {}
_opening = Lock()


def opened(name: DeviceName) -> Device:
    """What runs on device *name* of the backend, opened on first use."""
    index = name.index or 0
    found = _by_index.get(index)
    if found is None:
        if _looked_for_by_parent:
            raise DeviceError(
                f"{name}: this process was forked from one that had looked for devices, which drivers do not survive",
                fix=_INSTEAD_OF_FORK,
            )
        with _opening:
            if index not in _by_index:
                _by_index[index] = Device(index, discovery.devices()[index])
            found = _by_index[index]
    return found


def opened_devices() -> list[Device]:
    """The devices in use."""
    return list(_by_index.values())
