"""`cupy.cuda.stream`."""

from __future__ import annotations

import threading
import time

from .. import simulation
from . import graph as _graph
from .runtime import CUDARuntimeError as _Error, failing

_local = threading.local()


def get_current_stream():
    return (getattr(_local, "streams", None) or {}).get(simulation.current(), Stream.null)


def _set(stream):
    streams = _local.__dict__.setdefault("streams", {})
    before = streams.get(simulation.current(), Stream.null)
    streams[simulation.current()] = stream
    return before


class Stream:
    """A stream; the null stream is that of the current device."""

    @failing
    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        if not null:
            simulation.devices[simulation.current()].check()
        if ptds or not (null or non_blocking):
            raise NotImplementedError("the stand-in has streams that do not wait for the null stream")
        self._own = None if null else simulation.Queue(simulation.devices[simulation.current()])
        self.ptr = self._own.number if self._own else 0
        self.device_id = self._own.device.number if self._own else -1
        self._before = []

    @classmethod
    def adopted(cls, number):
        """The stream that the driver knows by *number*."""
        return ExternalStream(number, simulation.current())

    def _queue(self):
        return self._own or simulation.devices[simulation.current()].null

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.ptr, self.device_id) == (other.ptr, other.device_id)

    def __hash__(self):
        return hash((self.ptr, self.device_id))

    def __enter__(self):
        if self.device_id not in (-1, simulation.current()):
            raise RuntimeError("this stream is of another device")
        self._before.append(_set(self))
        return self

    def __exit__(self, *exception):
        _set(self._before.pop())

    def use(self):
        _set(self)
        return self

    @property
    @failing
    def done(self):
        queue = self._queue()
        if queue.capture:
            queue.capture.refuse("StreamCaptureUnsupported")
        return not queue.work

    @failing
    def synchronize(self):
        self._queue().finish()

    def record(self, event=None):
        event = Event(disable_timing=True) if event is None else event
        event.record(self)
        return event

    @failing
    def wait_event(self, event):
        queue, mark = event._queue, event._mark
        if mark is not None:
            self._queue().wait(queue, mark, event._capture, lambda: event._reached(queue, mark))

    @failing
    def begin_capture(self, mode=None):
        queue = self._own
        if queue is None:
            raise simulation.Failure("StreamCaptureUnsupported")
        if queue.capture:
            raise simulation.Failure("IllegalState")
        queue.capture = simulation.Capture(queue)

    @failing
    def end_capture(self):
        capture = self._queue().capture
        if capture is None or capture.origin is not self._own:
            raise simulation.Failure("IllegalState")
        for queue in capture.queues:
            queue.capture = None
        if capture.trouble or capture.unjoined:
            raise simulation.Failure(capture.trouble or "StreamCaptureUnjoined")
        return _graph.Graph(capture)

    def is_capturing(self):
        return self._queue().capture is not None


class ExternalStream(Stream):
    """A stream that another library made."""

    def __init__(self, ptr, device_id=-1):
        self._own = simulation.queue_of(ptr)
        self.ptr, self.device_id, self._before = ptr, device_id, []


class Event:
    """A point in a stream."""

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self._timing = not disable_timing
        self._queue = self._mark = self._time = self._capture = None

    @failing
    def record(self, stream=None):
        self._queue = (get_current_stream() if stream is None else stream)._queue()

        def mark():
            self._time = time.perf_counter()

        self._mark, self._capture = mark, self._queue.capture
        self._queue.put(mark)

    @staticmethod
    def _reached(queue, mark):
        if mark in queue.work:
            queue.finish(mark)

    def _known(self):
        if self._capture:
            self._capture.refuse("CapturedEvent")

    @property
    @failing
    def done(self):
        self._known()
        return self._mark is None or self._mark not in self._queue.work

    @failing
    def synchronize(self):
        self._known()
        if self._mark is not None:
            self._reached(self._queue, self._mark)


def get_elapsed_time(start, end):
    if not (start._timing and end._timing):
        raise _Error("InvalidResourceHandle")
    return (end._time - start._time) * 1000


Stream.null = Stream(null=True)
