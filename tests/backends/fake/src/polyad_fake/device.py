"""One fake device: how much memory it has, who holds it, and the faults that tests ask for."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable

from polyad.errors import BackendError, OutOfMemory

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
        self._held: dict[int, tuple[int, str]] = {}
        self._held_bytes = 0
        self._released: deque[int] = deque()
        self._next = FIRST_ADDRESS
        self._countdown = 0
        self._lost = ""
        self._lock = threading.RLock()

    # ------------------------------------------------------------------------------------------------- work

    def check(self) -> None:
        """Raise BackendError if the device is lost."""
        why = self._lost or self.queue.stopped
        if why:
            raise BackendError(
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

    def allocate(self, nbytes: int, what: str) -> Memory:
        """New memory for the tensor that *what* describes. Raises OutOfMemory as `limit` and tests have it."""
        self.check()
        with self._lock:
            self._settle()
            room = self.limit - self._held_bytes
            failing = self._countdown == 1
            self._countdown = max(self._countdown - 1, 0)
            if failing or nbytes > room:
                raise self._out_of_memory(nbytes, what, room)
            address = self._next
            self._next += (nbytes // ALIGNMENT + 2) * ALIGNMENT  # with a gap, so that no end is a beginning
            self._held[address] = nbytes, what
            self._held_bytes += nbytes
        self.queue.submit(lambda: self.blocks.make(address, nbytes))
        return Memory(self, address, nbytes, what)

    def release(self, address: int, nbytes: int) -> None:
        """Free memory, after the work that is in the queue. From finalizers: takes no lock."""
        self._released.append(address)
        if not self._lost and not self.queue.stopped:
            self.queue.submit(lambda: self.blocks.free(address))

    def held(self) -> int:
        """How many bytes are in use."""
        with self._lock:
            self._settle()
            return self._held_bytes

    def _settle(self) -> None:
        while self._released:
            nbytes, _ = self._held.pop(self._released.popleft())
            self._held_bytes -= nbytes

    def _out_of_memory(self, nbytes: int, what: str, room: int) -> OutOfMemory:
        sizes: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for size, holder in self._held.values():
            sizes[holder] += size
            counts[holder] += 1
        holders = ", ".join(f"{counts[name]} of {name} with {size} bytes" for name, size in sizes.most_common(3))
        return OutOfMemory(
            f"{self.name}: no room for {what}",
            notes={
                "asked": f"{nbytes} bytes",
                "free": f"{max(room, 0)} of {self.limit} bytes",
                "held": f"{self._held_bytes} bytes in {len(self._held)} tensors" + (f": {holders}" if holders else ""),
            },
            fix="use smaller tensors, or free some: del x, or leave the function that holds them",
        )

    # ------------------------------------------------------------------------------------------------- faults

    def fail_allocation(self, number: int = 1) -> None:
        """Let the allocation with this number, counted from now, find no room; 0 takes it back."""
        with self._lock:
            self._countdown = number

    def lose(self, why: str) -> None:
        """From now on every call on this device raises; what it was doing is dropped."""
        self._lost = why
        self.queue.stop(why)
