"""A device that computes later, and does so in the wrong order or shows what is not finished."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from polyad_fake.backend import FakeBackend
from polyad_fake.device import FakeDevice
from polyad_fake.memory import Blocks
from polyad_fake.pinning import Download, Pinned
from polyad_fake.queue import Queue
from polyad_fake.streams import FakeStreams

from polyad.interop.numpy import numpy_dtype

from .saboteur import QueueingSaboteur, caught_by

if TYPE_CHECKING:
    import pytest


def _now(array: Any) -> Any:
    """What is in an array's memory at this moment; nothing, if the queue has not even made it."""
    window = array.window()
    block = array.device.blocks._blocks.get(window.address)
    return np.zeros(array.shape, numpy_dtype(array.dtype)) if block is None else block.values(window)


@caught_by("check_synchronize", backend=QueueingSaboteur)
def reads_without_waiting(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """to_host gives what is in memory, finished or not: a stale read."""
    patch.setattr(QueueingSaboteur, "to_host", lambda self, array: _now(array).copy())


@caught_by("check_host_memory", backend=QueueingSaboteur)
def leaks_its_own_pointers(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """to_host gives the device's memory itself, which later work writes."""

    def to_host(self: Any, array: Any) -> Any:
        array.device.wait()
        return _now(array)

    patch.setattr(QueueingSaboteur, "to_host", to_host)


@caught_by("check_order", backend=QueueingSaboteur)
def races_a_copy(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Copies go through a second queue that nobody orders: they read what is written later."""
    late: list[Any] = []
    honest_copy, honest_wait = FakeBackend.copy, FakeDevice.wait

    def copy(self: Any, target: Any, source: Any) -> None:
        with patch.context() as here:
            here.setattr(FakeDevice, "submit", lambda self, work, reads, writes: late.append(work))
            honest_copy(self, target, source)

    def wait(self: Any, stream: Any = None) -> None:
        while late:
            self.queue.submit(late.pop(0))
        honest_wait(self, stream)

    patch.setattr(QueueingSaboteur, "copy", copy)
    patch.setattr(FakeDevice, "wait", wait)


@caught_by("check_freed_memory", backend=QueueingSaboteur)
def frees_memory_that_work_waits_for(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Memory is somebody else's as soon as the program lets go of it, not when the work that reads it is done."""
    gone: set[int] = set()
    honest_release, honest_at = FakeDevice.release, Blocks.at

    def release(self: Any, address: int, stream: Any) -> None:
        gone.add(address)
        honest_release(self, address, stream)

    def at(self: Any, window: Any) -> Any:
        block = honest_at(self, window)
        if window.address in gone:
            block.bytes.fill(0)
        return block

    patch.setattr(FakeDevice, "release", release)
    patch.setattr(Blocks, "at", at)


@caught_by("check_host_memory", backend=QueueingSaboteur)
def uploads_later(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """from_host returns before it has read the host's array."""

    def from_host(self: Any, data: Any, dtype: Any, device: Any) -> Any:
        made = self.empty(data.shape, dtype, device)
        window, blocks = made.window(), made.device.blocks
        made.device.submit(lambda: blocks.write(window, np.asarray(data, numpy_dtype(dtype))))
        return made

    patch.setattr(QueueingSaboteur, "from_host", from_host)


@caught_by("test_error", "gather", backend=QueueingSaboteur)
def drops_errors_of_the_queue(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """What goes wrong while the device computes is never told."""
    honest = Queue.wait

    def wait(self: Any) -> None:
        with contextlib.suppress(Exception):
            honest(self)

    patch.setattr(Queue, "wait", wait)


@caught_by("test_error", "index_select", backend=QueueingSaboteur)
def hides_that_it_works_later(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Errors come with the next synchronisation, and the feature asynchronous is not declared."""
    capabilities = dataclasses.replace(backend.info.capabilities, features=frozenset())
    backend.info = dataclasses.replace(backend.info, capabilities=capabilities)


@caught_by("check_streams", backend=QueueingSaboteur)
def overtakes_events(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """A stream that was told to wait for an event does not."""
    patch.setattr(FakeStreams, "wait", lambda self, stream, event: None)


@caught_by("check_several_streams", backend=QueueingSaboteur)
def passes_by_events(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Who waits for an event on the host goes on at once."""
    patch.setattr(FakeStreams, "wait_for", lambda self, event: None)


@caught_by("check_events", backend=QueueingSaboteur)
def measures_backwards(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """The time between two events has the wrong sign."""
    honest = FakeStreams.elapsed
    patch.setattr(FakeStreams, "elapsed", lambda self, start, end: honest(self, end, start))


@caught_by("check_pinned_memory", backend=QueueingSaboteur)
def downloads_what_comes_later(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy into pinned memory reads the device's memory when the program waits, not in the order of the work."""

    def arrive(self: Any, values: Any) -> None:
        self._arrived = values

    patch.setattr(Download, "arrive", arrive)


@caught_by("check_pinned_memory", backend=QueueingSaboteur)
def knows_no_view_of_pinned_memory(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Only the whole of what was pinned counts as pinned."""
    patch.setattr(QueueingSaboteur, "is_pinned", lambda self, data: type(data.base) is Pinned)
