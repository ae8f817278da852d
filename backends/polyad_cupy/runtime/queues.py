"""Streams and events: CuPy's, for `polyad.Stream` and `polyad.Event`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cupy.cuda import Event, ExternalStream, Stream, get_elapsed_time

from polyad.backend.streams import Streams

if TYPE_CHECKING:
    from polyad_kernels.array import Array

    from .device import Device


class CudaStreams(Streams):
    """The streams of *device*. The default is the driver's own, by which CuPy and PyTorch begin too."""

    def __init__(self, device: Device) -> None:
        self.on = device
        self.default = device.default

    def create(self, priority: int) -> Any:
        self.on.enter()
        return Stream(non_blocking=True, priority=min(0, max(priority, -5)))

    def select(self, stream: Any) -> None:
        self.on.stream = stream

    def done(self, stream: Any) -> bool:
        with self.on.driver("asking a stream"):
            return bool(stream.done)

    def synchronize(self, stream: Any) -> None:
        self.on.wait(stream)

    def record(self, stream: Any, timing: bool) -> Any:
        with self.on.driver("recording an event"):
            event = Event(disable_timing=not timing)
            event.record(stream)
            return event

    def wait(self, stream: Any, event: Any) -> None:
        with self.on.driver("waiting for an event"):
            stream.wait_event(event)

    def reached(self, event: Any) -> bool:
        with self.on.driver("asking an event"):
            return bool(event.done)

    def wait_for(self, event: Any) -> None:
        with self.on.driver("waiting for an event"):
            event.synchronize()

    def elapsed(self, start: Any, end: Any) -> float:
        with self.on.driver("timing"):
            return float(get_elapsed_time(start, end))

    def keep(self, array: Array, stream: Any) -> None:
        block = array.block
        if stream not in block.also:
            block.also = (*block.also, stream)

    def number(self, stream: Any) -> int:
        return int(stream.ptr)

    def external(self, number: int) -> Any:
        return ExternalStream(number, self.on.index) if number else self.default
