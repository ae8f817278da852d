"""Streams and events: CuPy's, for `polyad.Stream` and `polyad.Event`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cupy.cuda import Event, ExternalStream, Stream, get_elapsed_time

from polyad.backend.streams import Streams
from polyad.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from polyad_kernels.array import Array

    from .device import Device
    from .recording import Graph


class CudaStreams(Streams):
    """The streams of *device*. The default is the driver's own, by which CuPy and PyTorch begin too."""

    def __init__(self, device: Device) -> None:
        self.on = device
        self.default = device.default

    def create(self, priority: int) -> Any:
        with self.on.driver("creating a stream"):
            return Stream(non_blocking=True, priority=min(0, max(priority, -5)))

    def select(self, stream: Any) -> None:
        self.on.stream = stream

    def done(self, stream: Any) -> bool:
        self.on.check_waiting("asking a stream")
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
        self.on.check_waiting("asking an event")
        with self.on.driver("asking an event"):
            return bool(event.done)

    def wait_for(self, event: Any) -> None:
        self.on.check_waiting("waiting for an event")
        with self.on.driver("waiting for an event"):
            event.synchronize()

    def elapsed(self, start: Any, end: Any) -> float:
        self.on.check_waiting("timing")
        with self.on.driver("timing"):
            return float(get_elapsed_time(start, end))

    def keep(self, array: Array, stream: Any) -> None:
        block = array.block
        if stream not in block.also:
            block.also = (*block.also, stream)

    def number(self, stream: Any) -> int:
        return int(stream.ptr)

    def begin_capture(self, stream: Any, token: Hashable) -> None:
        on = self.on
        if stream == self.default:
            raise DeviceError(
                f"capturing work: the default stream of {on} cannot be captured", fix="capture another: Stream()"
            )
        if on.recording:
            raise DeviceError(
                f"capturing work: {on} is capturing this thread's work already", fix="end that capture first"
            )
        on.recording = on.recordings.begin(stream, token)

    def end_capture(self) -> Graph:
        recording, self.on.recording = self.on.recording, None
        if recording is None:
            raise DeviceError(f"capturing work: nothing is captured on {self.on}", fix="begin a capture first")
        return self.on.recordings.end(recording)

    def capturing(self, stream: Any) -> bool:
        return bool(stream != self.default and stream.is_capturing())

    def replay(self, graph: Graph, stream: Any) -> None:
        with self.on.driver("replaying a graph"):
            self.on.enter()
            graph.handle.launch(stream)

    def external(self, number: int) -> Any:
        return ExternalStream(number, self.on.index) if number else self.default
