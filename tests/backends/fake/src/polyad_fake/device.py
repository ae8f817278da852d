"""One fake device: how much memory it has, who holds it, and the faults that tests ask for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from polyad.backend.memory import MemoryStats, out_of_memory
from polyad.base.device import Device
from polyad.errors import DeviceError, KernelFailure

from .memory import Blocks, Memory, Window
from .order import ORDER, Accesses, overlap, race
from .queue import Queue

FIRST_ADDRESS, ALIGNMENT = 0xFA4E_0000_0000, 256


class FakeDevice:
    """Memory, streams and faults.

    Attributes:
        limit: how many bytes can be held at a time.
        streams: a queue each.  queue: the first, with which threads begin.
        blocks: the memory, at which only the streams look.
        kept: the streams that use a memory beside its own, by address.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self.queue = Queue(name)
        self.streams = [self.queue]
        self.blocks = Blocks(name)
        self.kept: dict[int, set[Queue]] = {}
        self._selected = threading.local()
        self._accesses: dict[int, Accesses] = {}
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

    @property
    def stream(self) -> Queue:
        """Where this thread's work goes."""
        found: Queue = getattr(self._selected, "stream", self.queue)
        return found

    def select(self, stream: Queue) -> None:
        """Let this thread's work go to *stream*."""
        self._selected.stream = stream

    def add_stream(self) -> Queue:
        """A stream beside the others."""
        self.check()
        with self._lock:
            made = Queue(f"{self.name} stream {len(self.streams)}", len(self.streams))
            self.streams.append(made)
        return made

    def submit(
        self, work: Callable[[], None], reads: Sequence[Window] = (), writes: Sequence[Window] = ()
    ) -> tuple[Queue, int]:
        """Have *work* done later in this thread's stream, which names what it reads and writes."""
        self.check()
        stream = self.stream
        self._look_for_races(stream, reads, False)
        self._look_for_races(stream, writes, True)
        number = stream.submit(work)
        for windows, wrote in ((reads, False), (writes, True)):
            for window in windows:
                self._accesses[window.address].add(stream, number, window, wrote)
        return stream, number

    def _look_for_races(self, stream: Queue, windows: Sequence[Window], wrote: bool) -> None:
        for window in windows:
            for _, other in self._accesses[window.address].unknown_to(stream, wrote):
                if overlap(window, other, self._held[window.address]):
                    stream.fail(race(self.name, "writes" if wrote else "reads", stream, window))

    def wait(self, stream: Queue | None = None) -> None:
        """Wait for all work of a stream, this thread's if None; raises what went wrong in it."""
        stream = stream or self.stream
        self.check()
        known = ORDER.at(stream)
        stream.wait()
        ORDER.host_learns(known)
        stream.raise_failure()
        self.check()

    def wait_for_all(self) -> None:
        """Wait for all work of all streams."""
        for stream in list(self.streams):
            self.wait(stream)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do nothing meanwhile, in no stream; what is launched waits."""
        with ExitStack() as stack:
            for stream in list(self.streams):
                stack.enter_context(stream.paused())
            yield

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
        stream = self.stream
        self._accesses[address] = Accesses(stream)
        self.blocks.make(address, nbytes)
        return Memory(self, address, nbytes, stream)

    def release(self, address: int, stream: Queue) -> None:
        """Free memory of *stream*, after its work, and that of the streams that `kept` names. From finalizers: takes
        no lock.
        """
        self._released.append(address)
        accesses, kept = self._accesses.pop(address), self.kept.pop(address, set()) - {stream}
        if self._lost or self.queue.stopped:
            return
        unordered = {other for other, _ in accesses.unknown_to(stream)} - {one.number for one in kept}
        if unordered:
            kept |= {one for one in self.streams if one.number in unordered}  # told once, and not a second time
            stream.fail(
                KernelFailure(
                    f"{self.name}: memory of stream {stream.place} is freed while another stream may still use it",
                    notes={"address": hex(address)},
                    fix="call tensor.record_stream(other) before it is freed, or let the stream wait for the other",
                )
            )
        passed: deque[None] = deque([None] * len(kept))

        def work() -> None:
            try:
                passed.pop()
            except IndexError:  # every stream has passed
                self.blocks.free(address)

        for one in (stream, *kept):
            one.submit(work)

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
        self.stop(why)

    def stop(self, why: str) -> None:
        """Let the threads end."""
        for stream in self.streams:
            stream.stop(why)
