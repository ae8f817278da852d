"""Streams and events: the order of work on a device, under PyTorch's names ``polyad.Stream`` and ``polyad.Event``.

They work on every device. One whose backend has a single queue, or computes while it is called, has one stream, which
every `Stream` of it is; see `polyad.backend.streams`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..backend.streams import OneStream, Streams
from ..base.device import Device
from ..errors import ArgumentError, ArgumentTypeError, DeviceError, describe
from . import accelerators, registry

if TYPE_CHECKING:
    from typing import Self


class _Selected(threading.local):
    """The streams that a thread has selected, by device, and those that the blocks around the present one had."""

    def __init__(self) -> None:
        self.streams: dict[Device, Stream] = {}
        self.outer: list[Stream] = []


_selected = _Selected()


def streams_of(device: Device) -> Streams:
    """What manages the queues of a device from `registry.resolve_device`."""
    backend = registry.get(device.type)
    if "streams" in backend.capabilities(device).features:
        return backend.streams(device)
    return OneStream(backend, device)


def _device(device: Any) -> Device:
    if device is None:
        return registry.resolve_device(accelerators.current() or "cpu")
    return accelerators.resolve(device)


class Stream:
    """A queue of work on a device (the current accelerator's if None): what is in it is done in order.

    A device with a single queue gives that one each time. *priority* is negative for work that is more urgent. Inside
    of ``with stream:`` what this thread asks of the device goes to the stream. Raises RuntimeError for a device that
    does not exist.

    >>> import polyad
    >>> stream = polyad.Stream("cpu")
    >>> with stream:
    ...     x = polyad.ones(2, device="cpu") + 1
    >>> stream.synchronize()
    >>> x
    tensor([2., 2.])
    """

    device: Device

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _device(device)
        self._backend = registry.get(self.device.type)
        self._streams = streams_of(self.device)
        self._handle = self._streams.create(priority)

    @classmethod
    def _of(cls, device: Device, handle: Any) -> Self:
        """A stream over the backend's *handle*; None for the stream that threads begin with."""
        stream = cls.__new__(cls)
        stream.device, stream._backend, stream._streams = device, registry.get(device.type), streams_of(device)
        stream._handle = stream._streams.default if handle is None else handle
        return stream

    @property
    def device_index(self) -> int:
        """The device's index, -1 where devices are not counted."""
        return -1 if self.device.index is None else self.device.index

    @property
    def stream_id(self) -> int:
        """A number that no other stream of the device has; 0 for the stream that threads begin with."""
        return self._streams.number(self._handle)

    @property
    def native_handle(self) -> int:
        """The driver's handle of the stream; without one, `stream_id`."""
        return self._streams.number(self._handle)

    def query(self) -> bool:
        """Whether everything in the stream so far is done."""
        return self._streams.done(self._handle)

    def synchronize(self) -> None:
        """Wait until everything in the stream so far is done. Raises what went wrong in it."""
        self._streams.synchronize(self._handle)

    def record_event(self, event: Event | None = None) -> Event:
        """Put *event*, by default a new one, at the present end of the stream, and return it.

        Raises RuntimeError for an event of another device.
        """
        if event is None:
            event = Event(self.device)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what is put into the stream from now on begin after *event* is reached; does not wait itself."""
        if not isinstance(event, Event):
            raise ArgumentTypeError(
                f"wait_event: event is {describe(event)}", fix="pass a polyad.Event, such as stream.record_event()"
            )
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let what is put into this stream from now on begin after everything that *stream* has so far."""
        self.wait_event(checked(stream, "wait_stream").record_event())

    def __enter__(self) -> Stream:
        _selected.outer.append(current_stream(self.device))
        set_stream(self)
        return self

    def __exit__(self, *exception: object) -> None:
        set_stream(_selected.outer.pop())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return self.device == other.device and bool(self._handle == other._handle)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        device = f"device_type={self.device.type}, device_index={self.device_index}"
        return f"polyad.Stream {device}, stream_id={self.stream_id}"


class Event:
    """A point in a stream of *device* (the current accelerator's if None), to be waited for and measured from.

    Without *enable_timing* it cannot be measured. *blocking* and *interprocess* have no effect, as in PyTorch.

    >>> import polyad
    >>> start, end = polyad.Event("cpu", enable_timing=True), polyad.Event("cpu", enable_timing=True)
    >>> start.record()
    >>> x = polyad.ones(100, device="cpu").sum()
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0
    True
    """

    device: Device

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device = _device(device)
        self._timing = bool(enable_timing)
        self._recorded: tuple[Streams, Any] | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Put the event at the present end of *stream*, the current one if None.

        Recorded again it means the later point. Raises RuntimeError for a stream of another device.
        """
        stream = current_stream(self.device) if stream is None else checked(stream, "record")
        if stream.device != self.device:
            raise DeviceError(
                f"record: the event is of {self.device}, the stream of {stream.device}",
                fix=f'create the event with polyad.Event("{stream.device}"), or use stream.record_event()',
            )
        self._recorded = stream._streams, stream._streams.record(stream._handle, self._timing)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what is put into *stream*, the current one if None, from now on begin after the event is reached.

        Does not wait itself, except for an event of a device of another type. Nothing, if the event was not recorded.
        """
        stream = current_stream(self.device) if stream is None else checked(stream, "wait")
        if self._recorded is None:
            return
        if stream.device.type == self.device.type:
            stream._streams.wait(stream._handle, self._recorded[1])
        else:
            self.synchronize()

    def query(self) -> bool:
        """Whether everything before the event is done; True if it was not recorded."""
        return self._recorded is None or self._recorded[0].reached(self._recorded[1])

    def synchronize(self) -> None:
        """Wait until the event is reached. Raises what went wrong before it."""
        if self._recorded is not None:
            self._recorded[0].wait_for(self._recorded[1])

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to *end_event*.

        Raises ValueError unless both have timing and were recorded, RuntimeError unless both are reached and are of one
        device.
        """
        if not isinstance(end_event, Event):
            raise ArgumentTypeError(f"elapsed_time: end_event is {describe(end_event)}", fix="pass a polyad.Event")
        if self.device != end_event.device:
            raise DeviceError(
                f"elapsed_time: the events are of {self.device} and {end_event.device}",
                fix="measure between two events of one device",
            )
        if not (self._timing and end_event._timing):
            raise ArgumentError(
                "elapsed_time: an event without timing has no time", fix="create both with enable_timing=True"
            )
        if self._recorded is None or end_event._recorded is None:
            raise ArgumentError("elapsed_time: an event was not recorded", fix="call record() on both first")
        if not (self.query() and end_event.query()):
            raise DeviceError(
                "elapsed_time: an event is not reached yet", fix="call end_event.synchronize() before elapsed_time"
            )
        return self._recorded[0].elapsed(self._recorded[1], end_event._recorded[1])

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        recorded = "not recorded" if self._recorded is None else "recorded"
        return f"polyad.Event device_type={self.device.type}, device_index={index}, {recorded}"


def checked(stream: Any, what: str) -> Stream:
    """*stream*, which *what* was given. Raises TypeError for what is no stream."""
    if not isinstance(stream, Stream):
        raise ArgumentTypeError(f"{what}: stream is {describe(stream)}", fix="pass a polyad.Stream")
    return stream


S = TypeVar("S", bound=Stream)


@overload
def current_stream(device: Device) -> Stream: ...
@overload
def current_stream(device: Device, make: type[S]) -> S: ...
def current_stream(device: Device, make: type[Stream] = Stream) -> Stream:
    """The stream that this thread's work on a device from `registry.resolve_device` goes to, as a *make*."""
    selected = _selected.streams.get(device)
    if selected is None or selected._backend is not registry.get(device.type):  # the backend was replaced since
        return make._of(device, None)
    return selected if isinstance(selected, make) else make._of(device, selected._handle)


def set_stream(stream: Stream) -> None:
    """Let what this thread asks of the stream's device go to *stream*; ``with stream:`` does it for a block.

    Which device a type's name stands for stays as it is. Raises TypeError for what is no stream.

    >>> import polyad
    >>> polyad.accelerator.set_stream(polyad.Stream("cpu"))
    """
    checked(stream, "set_stream")
    stream._streams.select(stream._handle)
    _selected.streams[stream.device] = stream


def keep_for(array: Any, device: Device, stream: Any) -> None:
    """Keep the memory of an array of *device* until what *stream* has when it is freed is done."""
    checked(stream, "record_stream")
    if stream.device != device:
        raise DeviceError(
            f"record_stream: the tensor is on {device}, the stream of {stream.device}",
            fix="pass a stream of the tensor's device",
        )
    stream._streams.keep(array, stream._handle)
