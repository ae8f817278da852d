"""Which work happens before which, and who touches memory without knowing: races between streams, always noticed.

Each stream counts its work. It knows, of every other stream, up to which number that one's work comes before what is
put in next: an event carries this knowledge from where it was recorded to who waits for it. The host knows what it has
waited for, and so does all work that it asks for after that. Two pieces of work that touch the same bytes, one of them
writing, and of which neither knows the other, are a race, whatever the threads happen to do first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import numpy as np

from polyad.errors import KernelFailure

from .memory import Window
from .queue import Queue

KEPT = 64
"""So many windows of one memory are told apart; then they count as the whole of it."""


class Order:
    """What streams and the host know, for all devices of a process.

    Attributes:
        host: the number of the work up to which the host knows each stream to be done, by `Queue.number`.
        streams: the same for each stream.
    """

    def __init__(self) -> None:
        self.host: dict[int, int] = {}
        self.streams: dict[int, dict[int, int]] = {}
        self._lock = threading.Lock()
        self._awaited: list[tuple[Queue, int, Callable[[], None]]] = []

    def at(self, stream: Queue) -> dict[int, int]:
        """What comes before anything that is put into *stream* now, the stream itself included."""
        return _joined(self.streams.get(stream.number, {}), self.host, {stream.number: stream.last})

    def before(self, stream: Queue, other: int, number: int) -> bool:
        """Whether work *number* of the stream *other* comes before what is put into *stream* now."""
        known = self.streams.get(stream.number, {})
        return stream.number == other or max(known.get(other, 0), self.host.get(other, 0)) >= number

    def stream_learns(self, stream: Queue, known: dict[int, int]) -> None:
        """What is put into *stream* from now on comes after what is *known*."""
        self.streams[stream.number] = _joined(self.streams.get(stream.number, {}), known)

    def host_learns(self, known: dict[int, int]) -> None:
        """The host has waited for what is *known*."""
        for number, last in known.items():
            self.host[number] = max(self.host.get(number, 0), last)
        if self._awaited:
            with self._lock:
                awaited, self._awaited = self._awaited, []
                self._awaited = [one for one in awaited if not self._ended(*one)]

    def when_known(self, stream: Queue, number: int, end: Callable[[], None]) -> None:
        """Call *end* when the host has waited for work *number* of *stream*, and not before."""
        with self._lock:
            self._awaited.append((stream, number, end))

    def _ended(self, stream: Queue, number: int, end: Callable[[], None]) -> bool:
        if stream.stopped:
            return True
        if self.host.get(stream.number, 0) < number:
            return False
        try:
            end()
        except KernelFailure as error:
            stream.fail(error)
        return True


ORDER = Order()


def _joined(*known: dict[int, int]) -> dict[int, int]:
    together: dict[int, int] = {}
    for one in known:
        for number, last in list(one.items()):
            together[number] = max(together.get(number, 0), last)
    return together


class FakeEvent:
    """A point in a stream.

    Attributes:
        known: what comes before the event, in the order of `Order`.
        reached: set when the stream gets there, at the moment *time*.
    """

    def __init__(self, stream: Queue) -> None:
        self.stream = stream
        self.reached = threading.Event()
        self.time = 0.0
        stream.submit(self._reach)
        self.known = ORDER.at(stream)

    def _reach(self) -> None:
        self.time = time.perf_counter()
        self.reached.set()

    def hold(self, stream: Queue) -> None:
        """Let *stream* go on when the event is reached."""

        def work() -> None:
            while not (self.reached.wait(0.05) or stream.stopped or self.stream.stopped):
                pass

        if stream is not self.stream:
            stream.submit(work)
            ORDER.stream_learns(stream, self.known)


class Accesses:
    """Who has touched one memory: by stream, whether it wrote, and window, the number of the last such work.

    Attributes:
        others: whether another stream than the one that *belongs* to the memory was among them.
    """

    __slots__ = ("_last", "belongs", "others")

    def __init__(self, belongs: Queue) -> None:
        self._last: dict[tuple[int, bool, Window | None], int] = {}
        self.belongs, self.others = belongs, False

    def add(self, stream: Queue, number: int, window: Window, wrote: bool) -> None:
        """Note work *number* of *stream*."""
        last = self._last
        self.others = self.others or stream is not self.belongs
        last[stream.number, wrote, window] = number
        if len(last) > KEPT:
            whole: dict[tuple[int, bool, Window | None], int] = {}
            for (other, writing, _), at in list(last.items()):
                whole[other, writing, None] = max(whole.get((other, writing, None), 0), at)
            self._last = whole

    def unknown_to(self, stream: Queue, wrote: bool = True) -> Iterable[tuple[int, Window | None]]:
        """The streams and windows that clash with what *stream* is about to do, as far as bytes are not looked at."""
        if stream is self.belongs and not self.others:
            return
        for (other, writing, window), number in list(self._last.items()):
            if other != stream.number and (wrote or writing) and not ORDER.before(stream, other, number):
                yield other, window


def overlap(first: Window, second: Window | None, nbytes: int) -> bool:
    """Whether two windows of one memory have a byte in common; None is the whole of it."""
    if second is None:
        return True
    marked = np.zeros(nbytes, np.bool_)
    _bytes_of(first, marked)[...] = True
    return bool(_bytes_of(second, marked).any())


def _bytes_of(window: Window, memory: np.ndarray) -> np.ndarray:
    return np.ndarray((*window.shape, window.dtype.itemsize), np.bool_, memory, window.offset, (*window.strides, 1))


def race(device: str, what: str, stream: Queue, window: Window) -> KernelFailure:
    """The failure for work of *stream* that clashes with another stream's."""
    return KernelFailure(
        f"{device}: stream {stream.place} {what} {window.dtype.name} {window.shape} while another stream may still "
        "use it",
        notes={"address": hex(window.address)},
        fix="let the stream wait: stream.wait_stream(other), or stream.wait_event(other.record_event())",
    )
