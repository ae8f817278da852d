"""`cupy.cuda.memory`: the pool, with an arena a stream, and page-locked memory."""

from __future__ import annotations

from contextlib import suppress as _suppress

from .. import simulation
from . import allocators
from .stream import get_current_stream as _current_stream


class OutOfMemoryError(MemoryError):
    """There is no room."""


class PooledMemory:
    """Memory of a pool; goes back to the arena of the stream in which it was allocated."""

    def __init__(self, pool, memory, queue):
        self._pool, self._memory, self._queue = pool, memory, queue
        self.ptr, self.size = memory.address, memory.size

    def __del__(self):
        memory = self._memory
        with simulation.lock:
            memory.live = False
            if not memory.device.broken:
                self._queue.put(lambda: memory.contents.fill(simulation.POISON))
            self._pool._free.setdefault((memory.device.number, self._queue.number, memory.size), []).append(memory)


class UnownedMemory:
    """Memory that somebody else keeps."""

    def __init__(self, ptr, size, owner, device_id=-1):
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """A place in memory."""

    def __init__(self, mem, offset):
        self.mem, self.ptr = mem, mem.ptr + offset


def alloc(size):
    allocator = allocators.current()
    if allocator is None:
        raise NotImplementedError("the stand-in has no pool of its own: allocate with using_allocator")
    return allocator(size)


class MemoryPool:
    """Keeps what is freed."""

    def __init__(self):
        self._free = {}
        self._limits = {}
        self._all = []

    def malloc(self, size):
        device = simulation.devices[simulation.current()]
        queue = simulation.queue_of(_current_stream().ptr)
        size = -(-size // 512) * 512
        with simulation.lock:
            kept = self._free.get((device.number, queue.number, size))
            if kept:
                memory = kept.pop()
                memory.live = True
            else:
                most = self._limits.get(device.number, 0)
                if most and self.total_bytes() + size > most:
                    self.free_all_blocks()
                    if self.total_bytes() + size > most:
                        raise OutOfMemoryError(
                            f"Out of memory allocating {size:,} bytes (limit set to: {most:,} bytes)."
                        )
                try:
                    memory = device.allocate(size)
                except simulation.Failure as error:
                    if str(error) != "MemoryAllocation":
                        from .runtime import CUDARuntimeError

                        raise CUDARuntimeError(str(error)) from None
                    self.free_all_blocks()
                    try:
                        memory = device.allocate(size)
                    except simulation.Failure:
                        raise OutOfMemoryError(
                            f"Out of memory allocating {size:,} bytes (allocated so far: {self.used_bytes():,} bytes)."
                        ) from None
                self._all.append(memory)
            return MemoryPointer(PooledMemory(self, memory, queue), 0)

    def set_limit(self, size=None, fraction=None):
        self._limits[simulation.current()] = size

    def _of_device(self):
        return [memory for memory in self._all if memory.device.number == simulation.current()]

    def total_bytes(self):
        return sum(memory.size for memory in self._of_device())

    def used_bytes(self):
        return sum(memory.size for memory in self._of_device() if memory.live)

    def free_bytes(self):
        return self.total_bytes() - self.used_bytes()

    def free_all_blocks(self):
        with simulation.lock:
            for key, kept in self._free.items():
                if key[0] == simulation.current():
                    for memory in kept:
                        with _suppress(simulation.Failure):  # as in a destructor of CuPy's
                            memory.device.free(memory)
                        self._all.remove(memory)
                    kept.clear()
