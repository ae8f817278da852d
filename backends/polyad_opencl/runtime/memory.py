"""The caching allocator: freed blocks are kept, by size, for the next array of about that size.

What it keeps pages for: the first touch of fresh memory costs several times the fill of warm memory, and on GPUs an
allocation waits for the device. A block can be used again at once, since all work on a device goes through one queue in
order: what still reads the old contents was enqueued before.

Sizes are rounded up to one of four steps an octave, at least 512 bytes, so that a block fits more than one shape; at
most a fifth is lost. The account is exact in these rounded sizes.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from typing import TYPE_CHECKING

import pyopencl as cl

from polyad.backend import MemoryStats
from polyad.backend.memory import out_of_memory
from polyad.base.locks import RLock
from polyad.errors import DeviceError

if TYPE_CHECKING:
    from .device import Device

LIMIT_VARIABLE = "POLYAD_OPENCL_MEMORY_LIMIT"
"""Environment variable: the bytes that polyad may hold on each device; its whole memory if it is not set."""

_SMALLEST = 512
SLACK = 128
"""Bytes behind the last element that belong to the block: kernels may load whole vectors there, and not store."""

_FULL = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
)
_numbers = itertools.count(1)


def rounded(nbytes: int) -> int:
    """The size of the block for *nbytes*.

    >>> [rounded(size) for size in (0, 513, 700, 1025, 5000)]
    [512, 640, 768, 1280, 5120]
    """
    if nbytes <= _SMALLEST:
        return _SMALLEST
    step = 1 << (nbytes - 1).bit_length() - 3
    return -(-nbytes // step) * step


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
    """Memory of an array and its views; goes back to the pool when nothing sees it any more."""

    __slots__ = ("__weakref__", "buffer", "nbytes", "number", "pool")

    def __init__(self, buffer: cl.Buffer, nbytes: int, pool: Pool) -> None:
        self.buffer = buffer
        self.nbytes = nbytes
        self.pool = pool
        self.number = next(_numbers)

    def __del__(self) -> None:
        try:
            self.pool.give(self)
        except Exception:
            pass  # the interpreter is going down, and the driver takes everything back


class Pool:
    """The memory of a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        handle = device.handle
        self.largest = int(handle.max_mem_alloc_size)
        self.limit = _limit() or int(handle.global_mem_size)
        self._flags = cl.mem_flags.READ_WRITE
        if device.shares_host_memory:
            self._flags |= cl.mem_flags.ALLOC_HOST_PTR  # mapping such a buffer moves nothing
        self._lock = RLock()  # re-entrant: `take` may have to make room
        self._free: dict[int, list[cl.Buffer]] = {}
        self._given: deque[tuple[int, cl.Buffer]] = deque()
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = self.live = self.requests = 0

    def take(self, nbytes: int) -> Block:
        """A block of at least *nbytes*. Raises OutOfMemory, after giving back what is kept, if there is no room."""
        size = rounded(nbytes + SLACK)
        with self._lock:
            if self._given:
                self._settle()
            kept = self._free.get(size)
            if kept:
                buffer = kept.pop()
            else:
                buffer = self._fresh(nbytes, size)
                self.reserved += size
                if self.reserved > self.peak_reserved:
                    self.peak_reserved = self.reserved
            self.allocated += size
            self.live += 1
            self.requests += 1
            if self.allocated > self.peak_allocated:
                self.peak_allocated = self.allocated
        return Block(buffer, size, self)

    def give(self, block: Block) -> None:
        """Keep the memory of *block* for another. Locks nothing: the garbage collector may free a block anywhere, also
        where this thread has the device's lock, for which another that has the pool's is waiting.
        """
        self._given.append((block.nbytes, block.buffer))

    def _settle(self) -> None:
        """Count in what was given back."""
        while self._given:
            size, buffer = self._given.popleft()
            self.allocated -= size
            self.live -= 1
            self._free.setdefault(size, []).append(buffer)

    def _fresh(self, nbytes: int, size: int) -> cl.Buffer:
        self.device.check_usable()
        if size > self.largest:
            raise self._full(nbytes, f"one allocation can have at most {self.largest:,} bytes", fix="split the tensor")
        if self.reserved + size > self.limit:
            self.empty_cache()
            if self.reserved + size > self.limit:
                raise self._full(nbytes, f"the limit is {self.limit:,} bytes")
        try:
            return self._create(size)
        except cl.Error as error:
            if error.code not in _FULL:
                raise self.device.explained(error, f"allocating {size:,} bytes") from error
        self.device.empty_cache()
        try:
            return self._create(size)
        except cl.Error as error:
            raise self._full(nbytes, str(error)) from error

    def _create(self, size: int) -> cl.Buffer:
        return cl.Buffer(self.device.context, self._flags, size)

    def _full(self, nbytes: int, why: str, fix: str | None = None) -> Exception:
        return out_of_memory(self.device.name, nbytes, why, self.stats(), fix)

    def empty_cache(self) -> None:
        """Give what is kept back to the driver; work that still uses it is waited for. A lost device keeps it."""
        if self.device.trouble:
            return
        with self._lock:
            self._settle()
            if any(self._free.values()):
                self.device.finish()
            freed = sum(size * len(buffers) for size, buffers in self._free.items())
            self._free.clear()
            self.reserved -= freed

    def stats(self) -> MemoryStats:
        """The account."""
        with self._lock:
            self._settle()
        return MemoryStats(
            allocated=self.allocated,
            peak_allocated=self.peak_allocated,
            reserved=self.reserved,
            peak_reserved=self.peak_reserved,
            blocks=self.live,
            requests=self.requests,
        )

    def reset_peaks(self) -> None:
        """Let the peaks begin at what is held now."""
        with self._lock:
            self._settle()
            self.peak_allocated, self.peak_reserved = self.allocated, self.reserved
