"""Streams, events, and copies that go on while the program does.

What programs may do with streams works on every device. What a device with several has to hold, and one that pins host
memory, is asked of those that declare it.
"""

from __future__ import annotations

import threading

import numpy as np

import polyad
from polyad import accelerator
from polyad.base.dtypes import float32

from ..calls import Target, UnsupportedByDeclaration
from .ordering import SIZE, TURNS, assert_all, busy, filled


def check_streams(target: Target) -> None:
    """Work in one stream that waits for another's sees what that did, and is not overtaken by it."""
    backend, device = target.backend, target.full_device
    first, second = accelerator.current_stream(device), polyad.Stream(device)
    work = busy(target)
    source = backend.from_host(filled(-1), float32, device)
    copies = []
    for turn in range(TURNS):
        backend.fill(source, turn)
        second.wait_stream(first)
        with second:
            copies.append(backend.empty((SIZE,), float32, device))
            backend.copy(copies[-1], source)
        first.wait_event(second.record_event())
    for turn, copied in enumerate(copies):
        assert_all(backend.to_host(copied), turn, f"what stream 2 copied in turn {turn}, with events on both sides")
    x = polyad.full((SIZE,), 3, dtype=float32, device=target.device)
    second.wait_stream(first)
    with target.watching():
        with second:
            y = x + 1
            x.record_stream(second)
            del x
        second.synchronize()
        z = y * 2
    assert_all(backend.to_host(z._array), 8, "a result of stream 2, doubled in stream 1 after synchronize")
    del work


def check_events(target: Target) -> None:
    """An event that was waited for is reached, and the time between two is not negative."""
    device = target.full_device
    start, end = (polyad.Event(device, enable_timing=True) for _ in range(2))
    assert start.query(), "an event that was not recorded counts as reached"
    start.record()
    work = busy(target)
    end.record()
    end.synchronize()
    assert end.query(), "an event is not reached after synchronize"
    assert start.query(), "an event is not reached, and a later one of its stream is"
    elapsed = start.elapsed_time(end)
    assert 0 <= elapsed < 600_000, f"{elapsed} ms between two events around some products of matrices"
    accelerator.synchronize(device)
    assert accelerator.current_stream(device).query(), "a stream is not through after the device was synchronised"
    del work


def check_several_streams(target: Target) -> None:
    """Streams are told apart; a thread begins with the default one; an event is not reached before its work is done."""
    device = target.full_device
    if "streams" not in target.backend.capabilities(device).features:
        raise UnsupportedByDeclaration(f"{device} declares no streams")
    default, others = accelerator.current_stream(device), [polyad.Stream(device) for _ in range(2)]
    assert len({default, *others}) == 3, "streams that were created are not told apart"
    assert default.stream_id == 0, f"the stream that a thread begins with has the number {default.stream_id}"
    seen = []

    def begin() -> None:
        seen.append(accelerator.current_stream(device))
        seen.append(target.backend.to_host(target.backend.from_host(filled(4), float32, device)))

    with others[0]:
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join(60)
    assert seen[0] == default, "a thread does not begin with the default stream"
    assert_all(seen[1], 4, "what another thread wrote and read")
    with others[0]:
        work = busy(target)
        event = others[0].record_event()
        host = target.backend.to_host(work._array)
        assert event.query(), "an event is not reached, and what came before it was read"
    assert np.allclose(host, 1.0, atol=1e-3), "values that were computed in a stream and read there are wrong"
    with others[0]:
        work = busy(target)
    others[0].record_event(event)
    event.synchronize()
    with others[1]:
        host = target.backend.to_host(work._array)
    assert np.allclose(host, 1.0, atol=1e-3), "values read in another stream after their event was waited for are wrong"


def check_pinned_memory(target: Target) -> None:
    """Copies from and to pinned memory are work of the device, in its order."""
    backend, device = target.backend, target.full_device
    if "pinned_memory" not in backend.capabilities(device).features:
        raise UnsupportedByDeclaration(f"{device} declares no pinned memory")
    data = backend.pinned(SIZE, float32)
    assert data.shape == (SIZE,), f"pinned({SIZE}) has the shape {data.shape}"
    assert data.dtype == np.float32, f"pinned(..., float32) has the dtype {data.dtype}"
    assert data.flags.writeable, "pinned memory cannot be written to"
    assert backend.is_pinned(data), "what pinned() gave is not pinned"
    assert backend.is_pinned(data[1::2]), "a view of pinned memory is not pinned"
    assert not backend.is_pinned(filled(1)), "memory of NumPy's counts as pinned"
    data.fill(1)
    work = busy(target)
    array = backend.from_host_later(data, float32, device)
    copied = backend.empty((SIZE,), float32, device)
    backend.copy(copied, array)
    backend.synchronize(device)
    data.fill(2)
    assert_all(backend.to_host(array), 1, "a copy from pinned memory that was changed after it was waited for")
    assert_all(backend.to_host(copied), 1, "a copy on the device of a copy from pinned memory")
    read = backend.to_host_later(array)
    backend.fill(array, 3)
    backend.synchronize(device)
    assert_all(read, 1, "a copy into pinned memory of what the device wrote again at once")
    assert backend.is_pinned(read), "to_host_later gave memory that is not pinned"
    given = backend.pinned(SIZE, float32)
    given.fill(5)
    again = busy(target)
    array = backend.from_host_later(given, float32, device)
    del given
    filled(-1)  # may get the memory
    backend.pinned(SIZE, float32).fill(-1)
    assert_all(backend.to_host(array), 5, "a copy from pinned memory that the program gave up at once")
    last = busy(target)
    data.fill(6)
    array = backend.from_host(data, float32, device)
    data.fill(-1)
    assert_all(backend.to_host(array), 6, "a copy that waits from pinned memory that was changed after it")
    del work, again, last


DEVICE_CHECKS = (check_streams, check_events, check_several_streams, check_pinned_memory)
"""Called as ``check(target)``."""
