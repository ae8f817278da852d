"""The streams of a fake device, for `polyad.Stream` and `polyad.Event`."""

from __future__ import annotations

from polyad.backend.streams import Streams

from .device import FakeDevice
from .memory import FakeArray
from .order import ORDER, FakeEvent
from .queue import Queue


class FakeStreams(Streams):
    """A queue each; see `Order` for what events are good for."""

    def __init__(self, device: FakeDevice) -> None:
        self.device = device
        self.default = device.queue

    def create(self, priority: int) -> Queue:
        return self.device.add_stream()

    def select(self, stream: Queue) -> None:
        self.device.select(stream)

    def done(self, stream: Queue) -> bool:
        known = ORDER.at(stream)
        if stream.done < known[stream.number]:
            return False
        ORDER.host_learns(known)
        return True

    def synchronize(self, stream: Queue) -> None:
        self.device.wait(stream)

    def record(self, stream: Queue, timing: bool) -> FakeEvent:
        self.device.check()
        return FakeEvent(stream)

    def wait(self, stream: Queue, event: FakeEvent) -> None:
        self.device.check()
        event.hold(stream)

    def reached(self, event: FakeEvent) -> bool:
        if not event.reached.is_set():
            return False
        ORDER.host_learns(event.known)
        return True

    def wait_for(self, event: FakeEvent) -> None:
        self.device.check()
        event.stream.check_open()
        event.stream.wait_for(event.reached)
        ORDER.host_learns(event.known)
        event.stream.raise_failure()
        self.device.check()

    def elapsed(self, start: FakeEvent, end: FakeEvent) -> float:
        return (end.time - start.time) * 1000

    def keep(self, array: FakeArray, stream: Queue) -> None:
        self.device.kept.setdefault(array.memory.address, set()).add(stream)

    def number(self, stream: Queue) -> int:
        return stream.place
