"""Streams: queues of work on a device, and events, which mark a point in one.

A device with several queues derives a class from `Streams`, declares the feature "streams" and gives an object of the
class by `Backend.streams`. Every other device has `OneStream`. Users see `polyad.Stream` and `polyad.Event`, which
stand over both.

Streams and events are handles of the backend's own; core compares streams with ``==`` and hands events back.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..errors import NotSupported

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..base.device import Device
    from .interface import Backend


class Streams(ABC):
    """The queues of one device. Work in one stream is done in order; work in two is not, unless an event says so.

    What the backend's other methods and kernels are asked for goes to the stream that the calling thread has selected,
    in a new thread `default`. `Backend.to_host` waits for that stream, and for others only as far as events made it;
    `Backend.synchronize` waits for all.

    Memory belongs to the stream in which it was allocated: it may be given out again in that stream's order. `keep`
    says that another stream uses it too.

    Attributes:
        default: the stream that every thread begins with.
    """

    default: Any

    @abstractmethod
    def create(self, priority: int) -> Any:
        """Another stream; a negative *priority* is more urgent than 0. A device without priorities ignores it."""

    @abstractmethod
    def select(self, stream: Any) -> None:
        """Let what this thread asks for go to *stream*."""

    @abstractmethod
    def done(self, stream: Any) -> bool:
        """Whether everything in *stream* so far is done. Does not wait."""

    @abstractmethod
    def synchronize(self, stream: Any) -> None:
        """Wait until everything in *stream* so far is done; raises what went wrong in it."""

    @abstractmethod
    def record(self, stream: Any, timing: bool) -> Any:
        """An event at the present end of *stream*. With *timing* it takes the device's time when it is reached."""

    @abstractmethod
    def wait(self, stream: Any, event: Any) -> None:
        """Let what is put into *stream* from now on begin after *event*, of any device of this backend, is reached.

        The caller does not wait.
        """

    @abstractmethod
    def reached(self, event: Any) -> bool:
        """Whether *event* is reached. Does not wait."""

    @abstractmethod
    def wait_for(self, event: Any) -> None:
        """Let the caller wait until *event* is reached; raises what went wrong before it."""

    @abstractmethod
    def elapsed(self, start: Any, end: Any) -> float:
        """The milliseconds between two events with timing that are reached."""

    @abstractmethod
    def keep(self, array: Any, stream: Any) -> None:
        """Do not give the memory of *array* out again before the work that *stream* has when it is freed is done."""

    @abstractmethod
    def number(self, stream: Any) -> int:
        """A number that tells the device's streams apart: the driver's handle, if there is one, and 0 for `default`."""

    def begin_capture(self, stream: Any, token: Hashable) -> None:
        """Note what this thread puts into *stream* from now on, to be done by `replay`, instead of doing it.

        Memory that is allocated meanwhile is given out again to graphs of the same *token* alone. What waits for
        results raises until `end_capture`.
        """
        raise NotSupported("CUDAGraph: this device captures no work into graphs", fix="call the function itself")

    def end_capture(self) -> Any:
        """The graph of what was noted since `begin_capture`. It raises what kept the work from being captured."""
        raise NotSupported("CUDAGraph: this device captures no work into graphs", fix="call the function itself")

    def capturing(self, stream: Any) -> bool:
        """Whether what is put into *stream* is captured."""
        return False

    def replay(self, graph: Any, stream: Any) -> None:
        """Put the work of *graph* into *stream*."""
        raise NotSupported("CUDAGraph: this device captures no work into graphs", fix="call the function itself")

    def external(self, number: int) -> Any:
        """The stream that another library created and that the driver knows by *number*."""
        raise NotSupported(
            "ExternalStream: this device takes no streams of other libraries", fix="create one with polyad.Stream"
        )


class OneStream(Streams):
    """The streams of a device that does everything in the order of the calls: each is the one queue that it has.

    A device that computes while it is called has always done everything. One that computes later is waited for where
    an answer needs it: in `done`, `reached` and in `record` with timing.
    """

    default = 0

    def __init__(self, backend: Backend, device: Device) -> None:
        self.backend, self.device = backend, device

    def create(self, priority: int) -> int:
        return self.default

    def select(self, stream: int) -> None:
        return

    def done(self, stream: int) -> bool:
        self.backend.synchronize(self.device)
        return True

    def synchronize(self, stream: int) -> None:
        self.backend.synchronize(self.device)

    def record(self, stream: int, timing: bool) -> float:
        if timing:
            self.backend.synchronize(self.device)
        return time.perf_counter()

    def wait(self, stream: int, event: Any) -> None:
        return

    def reached(self, event: float) -> bool:
        return self.done(self.default)

    def wait_for(self, event: float) -> None:
        self.backend.synchronize(self.device)

    def elapsed(self, start: float, end: float) -> float:
        return (end - start) * 1000

    def keep(self, array: Any, stream: int) -> None:
        return

    def number(self, stream: int) -> int:
        return stream
