"""Simulated devices: memory that is checked, and streams whose work is put off.

With POLYAD_CUDA_SOURCES=FOLDER kernels are neither compiled nor run: their sources are written to the folder, as for a
large GPU and for `compile_sources.py`, and all memory is zero.
"""

from __future__ import annotations

import bisect
import ctypes
import itertools
import os
import threading
from collections import deque

import numpy as np

COUNT = int(os.environ.get("STANDIN_CUPY_DEVICES", "2"))
MEMORY = int(os.environ.get("STANDIN_CUPY_MEMORY", str(1 << 32)))
LACKING = os.environ.get("STANDIN_CUPY_LACKING", "").split(",")
SOURCES = os.environ.get("POLYAD_CUDA_SOURCES", "")
MULTIPROCESSORS = 132 if SOURCES else 2
GUARD, POISON, GUARDED = 256, 0 if SOURCES else 0xFB, 0xA5

lock = threading.RLock()
_local = threading.local()
_owner = os.getpid()
_failing = 0


class Failure(Exception):
    """What went wrong on a device: the name of CUDA's error, without its prefix."""


def current() -> int:
    """The number of this thread's device."""
    if os.getpid() != _owner:
        raise Failure("InitializationError")
    return getattr(_local, "device", 0)


def select(number: int) -> None:
    """Let this thread use device *number*."""
    if not 0 <= number < COUNT:
        raise Failure("InvalidDevice")
    current()
    _local.device = number


def fail_allocations(count: int) -> None:
    """Let the next *count* allocations from devices fail."""
    global _failing
    _failing = count


def break_device(number: int) -> None:
    """Let device *number* answer as after a kernel that wrote where it may not."""
    devices[number].broken = "IllegalAddress"


class DynamicLibNotFoundError(RuntimeError):
    """What `cuda.pathfinder`, by which CuPy looks for NVIDIA's libraries, raises for one that is not there."""


def wanted(library: str, error: type[Exception] = DynamicLibNotFoundError) -> None:
    """Raise as CuPy does where *library*, the name of a file, is among those that STANDIN_CUPY_LACKING lists."""
    if library in LACKING:
        raise error(f'Failure finding "{library}": No such file: {library}\n')


class Memory:
    """A piece of a device's memory."""

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size, self.live = device, size, True
        self._bytes = np.full(size + 2 * GUARD + 512, GUARDED, np.uint8)
        start = self._bytes.ctypes.data
        self.address = -(-(start + GUARD) // 512) * 512
        self._at = self.address - start
        self.contents = self._bytes[self._at : self._at + size]
        self.contents[:] = POISON

    def _guards(self) -> tuple[np.ndarray, np.ndarray]:
        behind = self._at + self.size
        return self._bytes[self._at - GUARD : self._at], self._bytes[behind : behind + GUARD]

    def mend(self) -> None:
        """Let nobody have written beside it."""
        for guard in self._guards():
            guard[:] = GUARDED

    def check(self) -> None:
        """Raise if somebody wrote beside it."""
        before, behind = self._guards()
        if (before != GUARDED).any() or (behind != GUARDED).any():
            self.device.broken = "IllegalAddress"
            raise Failure("IllegalAddress")


def mend_device(number: int) -> None:
    """Let device *number* be as before it was broken."""
    device = devices[number]
    device.broken = ""
    device.null.work.clear()
    for memory in device.blocks.values():
        memory.mend()


class Device:
    """A device: its memory and its streams."""

    def __init__(self, number: int) -> None:
        self.number, self.used, self.broken = number, 0, ""
        self.blocks: dict[int, Memory] = {}
        self._addresses: list[int] = []
        self.streams: dict[int, Queue] = {}
        self.null = Queue(self, 0)

    def check(self) -> None:
        """Raise if it is broken."""
        if self.broken:
            raise Failure(self.broken)

    def allocate(self, size: int) -> Memory:
        """Fresh memory."""
        global _failing
        self.check()
        with lock:
            if _failing or self.used + size > MEMORY:
                _failing = max(0, _failing - 1)
                raise Failure("MemoryAllocation")
            found = Memory(self, size)
            self.used += size
            self.blocks[found.address] = found
            bisect.insort(self._addresses, found.address)
            return found

    def free(self, memory: Memory) -> None:
        """Take it back, after all work."""
        with lock:
            self.finish()
            memory.check()
            self.used -= memory.size
            del self.blocks[memory.address]
            self._addresses.remove(memory.address)

    def owner(self, address: int) -> Memory | None:
        """The memory in which *address* lies."""
        with lock:
            at = bisect.bisect_right(self._addresses, address) - 1
            if at < 0:
                return None
            found = self.blocks[self._addresses[at]]
        return found if address < found.address + max(1, found.size) else None

    def finish(self) -> None:
        """Do all work, the youngest stream's first."""
        with lock:
            for queue in self.streams.values():
                if queue.capture:
                    queue.capture.refuse("StreamCaptureUnsupported")
            for queue in reversed([self.null, *self.streams.values()]):
                queue.finish()
            for memory in self.blocks.values():
                memory.check()
        self.check()


class Capture:
    """Work that is noted for a graph instead of being put off.

    Attributes:
        touched: the memory that it names.
        unjoined: the streams that took part and that the first has not waited for since.
    """

    def __init__(self, origin: Queue) -> None:
        self.origin = origin
        self.work: list = []
        self.queues, self.unjoined = {origin}, set()
        self.touched: set[Memory] = set()
        self.trouble = ""

    def refuse(self, name: str) -> None:
        """Raise for what may not be done meanwhile, which spoils the graph."""
        self.trouble = "StreamCaptureInvalidated"
        raise Failure(name)


class Queue:
    """A stream's work, in order."""

    capture: Capture | None = None

    numbers = itertools.count(0x5000, 0x10)

    def __init__(self, device: Device, number: int | None = None) -> None:
        self.device = device
        self.number = next(self.numbers) if number is None else number
        self.work: deque = deque()
        if self.number:
            with lock:
                device.streams[self.number] = self

    def put(self, work) -> None:
        """Put *work* off."""
        self.device.check()
        with lock:
            if self.capture:
                self.capture.work.append(work)
                if self is not self.capture.origin:
                    self.capture.unjoined.add(self)
            else:
                self.work.append(work)

    def wait(self, other: Queue, mark, capture: Capture | None, reached) -> None:
        """Put *reached* off, which does what *other* has up to its *mark*; *capture* is what the mark was noted in."""
        if capture is None and self.capture is None:
            self.put(reached)
        elif capture is None:
            self.capture.refuse("StreamCaptureIsolation")
        elif self.capture is None and not capture.trouble and other.capture is capture:
            capture.queues.add(self)
            capture.unjoined.add(self)
            self.capture = capture
        elif self.capture is not capture:
            capture.refuse("StreamCaptureMerge")
        elif self is capture.origin:
            capture.unjoined.discard(other)

    def finish(self, until=None) -> None:
        """Do the work, up to the mark *until* if there is one."""
        if self.capture:
            self.capture.refuse("StreamCaptureUnsupported")
        with lock:
            while self.work:
                work = self.work.popleft()
                if self.device.broken:
                    continue
                try:
                    work()
                except Failure as error:
                    self.device.broken = str(error)
                if work is until:
                    break
        self.device.check()


told: list[tuple] = []
"""What a profiler was told."""

devices = [Device(number) for number in range(COUNT)]


def queue_of(number: int) -> Queue:
    """The stream that the driver knows by *number*, on this thread's device."""
    device = devices[current()]
    if not number:
        return device.null
    if number not in device.streams:
        raise Failure("InvalidResourceHandle")
    return device.streams[number]


def host(address: int, size: int) -> np.ndarray:
    """Bytes of the process at *address*."""
    return np.frombuffer((ctypes.c_ubyte * size).from_address(address), np.uint8)


def owner_of(address: int, size: int) -> Memory:
    """The live memory of this thread's device that holds *size* bytes from *address* on."""
    found = devices[current()].owner(address)
    if found is None or not found.live or address + size > found.address + found.size:
        raise Failure("IllegalAddress" if any(d.owner(address) for d in devices) else "InvalidValue")
    with lock:
        for queue in found.device.streams.values():
            if queue.capture:
                queue.capture.touched.add(found)
    return found
