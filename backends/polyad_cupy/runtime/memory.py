"""Device memory: CuPy's caching pool under an account of polyad's own.

Memory belongs to the stream in which it was allocated: the pool keeps an arena a stream, and what is freed is given out
again in that stream's order. A block that another stream uses too (`Block.also`) is given back after an event of that
stream, which its owner waits for.

Nothing is given back inside of a destructor, which may run anywhere: it notes the block, and the next allocation of any
thread gives back what was noted.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any

from cupy.cuda import MemoryPool, memory as _memory, runtime, using_allocator

from polyad.backend import MemoryStats
from polyad.backend.memory import out_of_memory
from polyad.base.locks import RLock
from polyad.errors import DeviceError, OutOfMemory

if TYPE_CHECKING:
    from .device import Device

LIMIT_VARIABLE = "POLYAD_CUDA_MEMORY_LIMIT"
"""Environment variable: the bytes that polyad may hold on each device; its whole memory if it is not set."""

_SLACK = 16
"""Bytes behind the last element that belong to the block: kernels may load 128 bits there."""

OutOfMemoryError = _memory.OutOfMemoryError


def _limit() -> int:
    """What the user allows in bytes; 0 if nothing is said. Raises DeviceError for what is no number of bytes."""
    said = os.environ.get(LIMIT_VARIABLE, "")
    if said and not (said.isascii() and said.isdigit() and int(said)):
        raise DeviceError(
            f"{LIMIT_VARIABLE}: {said!r} is no number of bytes",
            fix=f"set it to one, such as {LIMIT_VARIABLE}=4000000000",
        )
    return int(said or 0)


class Block:
    """Memory of an array and its views.

    Attributes:
        buffer: the address.
        also: the streams other than its own that use it.
    """

    __slots__ = ("__weakref__", "also", "buffer", "nbytes", "own", "pointer", "pool")

    def __init__(self, pointer: Any, nbytes: int, pool: Pool, own: Any) -> None:
        self.pointer = pointer
        self.buffer = int(pointer.ptr)
        self.nbytes = nbytes
        self.pool = pool
        self.own = own
        self.also: tuple[Any, ...] = ()

    def __del__(self) -> None:
        try:
            self.pool.given.append((self.nbytes, self.pointer, self.own, self.also))
        except Exception:
            pass  # the interpreter is going down


class Borrowed:
    """Memory of another library; *owner* keeps it alive."""

    __slots__ = ("__weakref__", "also", "buffer", "nbytes", "own", "owner", "pool")

    def __init__(self, address: int, nbytes: int, pool: Pool, owner: Any) -> None:
        self.buffer, self.nbytes, self.pool, self.owner = address, nbytes, pool, owner
        self.also: tuple[Any, ...] = ()
        self.own = None


class Pool:
    """The memory of a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        _, self.total = runtime.memGetInfo()
        self.largest = int(self.total)
        self._pool = MemoryPool()
        self.limit = int(self.total)
        said = _limit()
        if said:
            self.set_limit(said)
        self._lock = RLock()
        self.given: deque[tuple[int, Any, Any, tuple[Any, ...]]] = deque()
        self.allocated = self.peak_allocated = self.peak_reserved = self.live = self.requests = 0

    def take(self, nbytes: int) -> Block:
        """A block of at least *nbytes*. Raises OutOfMemory, after giving back what is kept, if there is no room."""
        device = self.device
        device.enter()
        thread = device.thread
        stream, recording = thread.stream, thread.recording
        malloc = self._pool.malloc if recording is None else recording.malloc
        size = nbytes + _SLACK
        with self._lock:
            if self.given:
                self._settle(capturing=recording is not None)
            if size > self.largest:
                raise self.full(nbytes, f"the device has {self.total:,} bytes", fix="split the tensor")
            try:
                with stream:
                    pointer = malloc(size)
            except OutOfMemoryError as error:
                limited = self.limit < self.total
                raise self.full(nbytes, f"the limit is {self.limit:,} bytes" if limited else str(error)) from error
            except runtime.CUDARuntimeError as error:
                raise device.explained(error, f"allocating {nbytes:,} bytes") from error
            size = int(pointer.mem.size)
            self.allocated += size
            self.live += 1
            self.requests += 1
            if self.allocated > self.peak_allocated:
                self.peak_allocated = self.allocated
            reserved = self._pool.total_bytes()
            if reserved > self.peak_reserved:
                self.peak_reserved = reserved
        return Block(pointer, size, self, stream)

    def temporaries(self) -> Any:
        """A context in which what CuPy allocates in this thread is this pool's."""
        recording = self.device.recording
        return using_allocator(self._pool.malloc if recording is None else recording.malloc)

    def set_limit(self, nbytes: int) -> None:
        """Hold at most *nbytes* from now on."""
        with self.device.driver("limiting memory"):
            self._pool.set_limit(size=nbytes)
        self.limit = nbytes

    def _settle(self, capturing: bool = False) -> None:
        """Give back what was noted, after the work of other streams that use it.

        What other streams use waits while this thread's work is captured: their events would be part of the graph.
        """
        for _ in range(len(self.given)):
            size, pointer, own, also = given = self.given.popleft()
            if also and capturing:
                self.given.append(given)
                continue
            for stream in also:
                if stream != own:
                    own.wait_event(stream.record())
            self.allocated -= size
            self.live -= 1
            del pointer

    def full(self, nbytes: int | None, why: str, fix: str | None = None) -> OutOfMemory:
        """The error for *nbytes* that there is no room for; None if they are not known."""
        return out_of_memory(self.device.name, nbytes, why, self.stats(), fix)

    def empty_cache(self) -> None:
        """Give what is kept back to the driver, which waits for work that still uses it."""
        with self.device.driver("giving memory back"), self._lock:
            self._settle()
            self._pool.free_all_blocks()

    def stats(self) -> MemoryStats:
        """The account."""
        with self.device.driver("asking for memory"), self._lock:
            self._settle()
            reserved = int(self._pool.total_bytes()) + self.device.recordings.reserved
        return MemoryStats(
            allocated=self.allocated,
            peak_allocated=self.peak_allocated,
            reserved=reserved,
            peak_reserved=max(self.peak_reserved, reserved),
            blocks=self.live,
            requests=self.requests,
        )

    def reset_peaks(self) -> None:
        """Let the peaks begin at what is held now."""
        with self.device.driver("asking for memory"), self._lock:
            self._settle()
            self.peak_allocated, self.peak_reserved = self.allocated, int(self._pool.total_bytes())
