"""Work that is captured into a graph of the driver, instead of being done.

A thread captures a stream: what it enqueues from then on is noted, and is done as often as the graph is launched, with
the same numbers and addresses. So memory that is allocated meanwhile belongs to the graph, and is not given to others
when it is freed; nothing may wait for results; and nothing may be read from the host's memory, which the graph does not
keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from cupy.cuda import MemoryPool

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .device import Device


class Memory:
    """The memory of graphs that share it: CuPy's pool, for them alone."""

    def __init__(self, limit: int) -> None:
        self.pool = MemoryPool()
        self.pool.set_limit(size=limit)


class Recording:
    """A capture that goes on.

    Attributes:
        malloc: allocates what the thread asks for meanwhile.
        kept: what the graph has to keep, by whatever the owners look it up with.
    """

    def __init__(self, device: Device, stream: Any, memory: Memory) -> None:
        self.stream, self.memory = stream, memory
        self.malloc = memory.pool.malloc
        self.kept: dict[Hashable, Any] = {}
        self.checked = device.checks.announced()


class Graph:
    """Captured work; *keys* are the numbers of its kernels that check indices."""

    def __init__(self, device: Device, handle: Any, recording: Recording, keys: list[int]) -> None:
        self.device, self.handle, self.keys = device, handle, keys
        self._alive = recording.memory, recording.kept

    def __del__(self) -> None:
        self.device.checks.forget(self.keys)


class Recordings:
    """The graphs of a device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memories: WeakValueDictionary[Hashable, Memory] = WeakValueDictionary()

    @property
    def reserved(self) -> int:
        """The bytes that graphs hold."""
        return sum([int(memory.pool.total_bytes()) for memory in list(self._memories.values())])

    def begin(self, stream: Any, token: Hashable) -> Recording:
        """Note what this thread puts into *stream*, with the memory of the graphs that have the same *token*."""
        memory = self._memories.get(token)
        if memory is None:
            memory = self._memories[token] = Memory(self._device.pool.limit)
        recording = Recording(self._device, stream, memory)
        with self._device.driver("capturing work"):
            self._device.enter()
            stream.begin_capture()
        return recording

    def end(self, recording: Recording) -> Graph:
        """The graph of what was noted."""
        checks = self._device.checks
        keys = checks.keep(recording.checked)
        try:
            with self._device.driver("capturing work"):
                handle = recording.stream.end_capture()
        except BaseException:
            checks.forget(keys)
            raise
        return Graph(self._device, handle, recording, keys)
