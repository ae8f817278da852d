"""One fake device: how much memory it has, who holds it, and the faults that tests ask for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from polyad.backend.memory import MemoryStats, out_of_memory
from polyad.device import Device
from polyad.errors import DeviceError

from .memory import Blocks, Memory
from .queue import Queue

FIRST_ADDRESS, ALIGNMENT = 0xFA4E_0000_0000, 256


class FakeDevice:
    """Memory, queue and faults.

    Attributes:
        limit: how many bytes can be held at a time.
        queue, blocks: the thread, and the memory that only it looks at.
        paused: a context in which nothing is done; what is launched waits.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self.queue = Queue(name)
        self.blocks = Blocks(name)
        self.paused = self.queue.paused
        self._held: dict[int, int] = {}
        self._held_bytes = self._peak = self._requests = 0
        self._released: deque[int] = deque()
        self._next = FIRST_ADDRESS
        self._countdown = 0
        self._lost = ""
        self._lock = threading.RLock()

    # ------------------------------------------------------------------------------------------------- work

    def check(self) -> None:
        """Raise DeviceError if the device is lost."""
        why = self._lost or self.queue.stopped
        if why:
            raise DeviceError(
                f"{self.name}: the device is lost: {why}",
                fix="go on with tensors of other devices, which are intact; restart the program to use this one again",
            )

    def submit(self, work: Callable[[], None]) -> None:
        """Have *work* done later."""
        self.check()
        self.queue.submit(work)

    def wait(self) -> None:
        """Wait for all work; raises what went wrong in it."""
        self.check()
        self.queue.wait()
        self.check()

    # ------------------------------------------------------------------------------------------------- memory

    def allocate(self, nbytes: int) -> Memory:
        """New memory. Raises OutOfMemory as `limit` and tests have it."""
        self.check()
        with self._lock:
            self._settle()
            failing = self._countdown == 1
            self._countdown = max(self._countdown - 1, 0)
            if failing or nbytes > self.limit - self._held_bytes:
                why = "a test asked for this failure" if failing else f"the device has {self.limit:,} bytes"
                raise out_of_memory(Device(self.name), nbytes, why, self.stats())
            address = self._next
            self._next += (nbytes // ALIGNMENT + 2) * ALIGNMENT  # with a gap, so that no end is a beginning
            self._held[address] = nbytes
            self._held_bytes += nbytes
            self._peak = max(self._peak, self._held_bytes)
            self._requests += 1
        self.queue.submit(lambda: self.blocks.make(address, nbytes))
        return Memory(self, address, nbytes)

    def release(self, address: int) -> None:
        """Free memory, after the work that is in the queue. From finalizers: takes no lock."""
        self._released.append(address)
        if not self._lost and not self.queue.stopped:
            self.queue.submit(lambda: self.blocks.free(address))

    def stats(self) -> MemoryStats:
        """The account; nothing is kept for later, so what is held is what is reserved."""
        with self._lock:
            self._settle()
            held, peak = self._held_bytes, self._peak
            return MemoryStats(held, peak, held, peak, len(self._held), self._requests)

    def reset_peak(self) -> None:
        """Let the peak begin at what is held now."""
        with self._lock:
            self._settle()
            self._peak = self._held_bytes

    def _settle(self) -> None:
        while self._released:
            self._held_bytes -= self._held.pop(self._released.popleft())

    # ------------------------------------------------------------------------------------------------- faults

    def fail_allocation(self, number: int = 1) -> None:
        """Let the allocation with this number, counted from now, find no room; 0 takes it back."""
        with self._lock:
            self._countdown = number

    def lose(self, why: str) -> None:
        """From now on every call on this device raises; what it was doing is dropped."""
        self._lost = why
        self.queue.stop(why)
