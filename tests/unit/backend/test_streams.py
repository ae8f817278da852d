"""Streams and events: on a device that has one queue, and on one that has several and notices what is not ordered."""

from __future__ import annotations

import gc
import threading

import pytest

import polyad
from polyad.errors import DeviceError, KernelFailure

# ------------------------------------------------------------------------------------------------------ one queue


def test_every_stream_of_a_device_with_one_queue_is_that_queue() -> None:
    stream = polyad.Stream("cpu")
    assert stream == polyad.accelerator.current_stream("cpu") == polyad.Stream(device="cpu", priority=-1)
    assert (stream.device, stream.device_index, stream.stream_id) == (polyad.device("cpu"), -1, 0)
    assert repr(stream) == "polyad.Stream device_type=cpu, device_index=-1, stream_id=0"
    with stream as entered:
        assert entered is stream
        assert (polyad.ones(2, device="cpu") + 1).tolist() == [2.0, 2.0]
    assert stream.query()
    stream.synchronize()
    stream.wait_stream(polyad.Stream("cpu"))


def test_events_of_a_device_with_one_queue_take_its_time() -> None:
    start, end = (polyad.Event("cpu", enable_timing=True) for _ in range(2))
    assert start.query(), "an event that was not recorded counts as reached"
    start.synchronize()
    start.wait()
    start.record()
    polyad.ones(300, 300, device="cpu").sum()
    assert polyad.Stream("cpu").record_event(end) is end
    assert end.query()
    assert 0 < start.elapsed_time(end) < 60_000
    assert end.elapsed_time(start) == -start.elapsed_time(end)


def test_one_queue_that_works_later_is_waited_for_where_the_answer_needs_it(fake, monkeypatch) -> None:
    """A backend that declares no streams: everything is in order, and an event's time is when the work was done."""
    monkeypatch.setattr(type(fake), "capabilities", lambda self, device: polyad.backend.Capabilities())
    stream, event = polyad.Stream("fake"), polyad.Event("fake", enable_timing=True)
    assert stream == polyad.accelerator.current_stream("fake")
    x = polyad.ones(3, device="fake")
    with fake.devices[0].paused():
        with stream:
            x.add_(1)
        polyad.Stream("fake").wait_event(stream.record_event())
        for ask in (stream.query, stream.synchronize, event.record):
            with pytest.raises(DeviceError, match="waiting for work while the queue is paused"):
                ask()
    event.record()
    assert event.query()
    assert x.tolist() == [2.0] * 3


# --------------------------------------------------------------------------------------------------- several queues


def test_streams_go_on_beside_each_other(fake) -> None:
    stream = polyad.Stream("fake")
    assert stream != polyad.accelerator.current_stream("fake")
    assert stream.stream_id == 1
    with fake.devices[0].queue.paused():
        polyad.ones(2, device="fake")
        with stream:
            assert polyad.accelerator.current_stream("fake") is stream
            assert (polyad.ones(2, device="fake") + 1).tolist() == [2.0, 2.0]
        stream.synchronize()
        assert stream.query()
        assert not polyad.accelerator.current_stream("fake").query()
    polyad.accelerator.synchronize("fake")
    assert polyad.accelerator.current_stream("fake").query()


def test_blocks_of_streams_nest_and_each_thread_has_its_own(fake) -> None:
    first, second = polyad.Stream("fake"), polyad.Stream("fake")
    seen = []

    def elsewhere() -> None:
        seen.append(polyad.accelerator.current_stream("fake").stream_id)

    with first:
        with second, second:
            assert polyad.accelerator.current_stream("fake") == second
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        assert polyad.accelerator.current_stream("fake") == first
        assert polyad.accelerator.current_stream("fake:1").stream_id == 0
    assert polyad.accelerator.current_stream("fake").stream_id == 0
    assert seen == [0]
    polyad.accelerator.set_stream(second)
    assert polyad.accelerator.current_stream("fake") == second
    with pytest.raises(TypeError, match="set_stream: stream is"):
        polyad.accelerator.set_stream(None)


def _race(ordered: bool, use) -> None:
    """*use* what the first stream computed, in a second one that waits for it or does not."""
    x = polyad.ones(4, device="fake")
    stream = polyad.Stream("fake")
    if ordered:
        stream.wait_stream(polyad.accelerator.current_stream("fake"))
    with stream:
        kept = use(x)
        if ordered:
            stream.synchronize()
            return
        with pytest.raises(KernelFailure, match="while another stream may still use it"):
            stream.synchronize()
    del kept


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: x.fill_(2),
        lambda x: x.copy_(polyad.ones(4, device="fake")),
        lambda x: polyad.zeros(4, device="fake").copy_(x),
        lambda x: x[1:3].add_(1),
    ],
    ids=["kernel", "fill", "written", "copied", "view"],
)
def test_a_wait_that_is_missing_is_noticed_whoever_was_first(fake, use, ordered: bool) -> None:
    _race(ordered, use)


def test_reading_at_once_and_writing_beside_each_other_is_no_race(fake) -> None:
    x, y = polyad.ones(4, device="fake"), polyad.zeros(4, device="fake")
    polyad.accelerator.synchronize("fake")
    stream = polyad.Stream("fake")
    with stream:
        a = x + 1
        y[::2].fill_(1)
    b = x + 2
    y[1::2].fill_(2)
    stream.synchronize()
    assert (a.tolist(), b.tolist(), y.tolist()) == ([2.0] * 4, [3.0] * 4, [1.0, 2.0, 1.0, 2.0])


def test_a_write_after_a_read_in_another_stream_needs_an_event_too(fake) -> None:
    x = polyad.ones(4, device="fake")
    stream = polyad.Stream("fake")
    stream.wait_stream(polyad.accelerator.current_stream("fake"))
    with stream:
        y = x + 1
    x.fill_(5)
    with pytest.raises(KernelFailure, match="stream 0 writes float32"):
        polyad.accelerator.synchronize("fake")
    event = stream.record_event()
    event.wait()
    x.fill_(6)
    polyad.accelerator.synchronize("fake")
    del y


def test_events_carry_order_over_a_third_stream_and_another_device(fake) -> None:
    first, second, far = polyad.Stream("fake"), polyad.Stream("fake"), polyad.Stream("fake:1")
    with first:
        x = polyad.ones(4, device="fake")
    far.wait_event(first.record_event())
    second.wait_stream(far)
    with second:
        y = x + 1
        assert y.tolist() == [2.0] * 4


def test_an_event_is_reached_when_its_stream_gets_there(fake) -> None:
    device = fake.devices[0]
    stream = polyad.Stream("fake")
    start, end = (polyad.Event("fake", enable_timing=True) for _ in range(2))
    with stream, device.streams[1].paused():
        start.record()
        x = polyad.ones(8, device="fake") * 2
        end.record(stream)
        assert not end.query()
        polyad.accelerator.current_stream("fake").wait_event(end)
        with pytest.raises(RuntimeError, match="elapsed_time: an event is not reached yet"):
            start.elapsed_time(end)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) > 0
    with stream:
        assert x.tolist() == [2.0] * 8


def test_work_waits_for_an_event_and_the_caller_does_not(fake) -> None:
    device = fake.devices[0]
    stream = polyad.Stream("fake")
    with device.streams[1].paused():
        with stream:
            x = polyad.ones(4, device="fake")
        polyad.accelerator.current_stream("fake").wait_stream(stream)
        y = x + 1
        assert not polyad.accelerator.current_stream("fake").query()
    assert y.tolist() == [2.0] * 4


def _used_in_another_stream(stream: polyad.Stream, rescue) -> polyad.Tensor:
    """What *stream* computes from a tensor of the default stream that is freed at once, after *rescue* of it."""
    x = polyad.ones(4, device="fake")
    stream.wait_stream(polyad.accelerator.current_stream("fake"))
    with stream:
        y = x + 1
    rescue(x)
    del x
    gc.collect()
    return y


def test_memory_that_is_freed_while_another_stream_uses_it(fake) -> None:
    stream = polyad.Stream("fake")
    y = _used_in_another_stream(stream, lambda x: None)
    with pytest.raises(KernelFailure, match="is freed while another stream may still use it"):
        polyad.accelerator.synchronize("fake")
    del y
    polyad.accelerator.synchronize("fake")
    with fake.devices[0].streams[1].paused():
        recorded = _used_in_another_stream(stream, lambda x: x.record_stream(stream))
    waited = _used_in_another_stream(stream, lambda x: stream.synchronize())
    with stream:
        assert recorded.tolist() == waited.tolist() == [2.0] * 4
    polyad.accelerator.synchronize("fake")
    assert polyad.accelerator.memory_allocated("fake") == 32


def test_gradients_in_a_stream(fake) -> None:
    stream = polyad.Stream("fake")
    with stream:
        w = polyad.ones(3, device="fake", requires_grad=True)
        (w * w).sum().backward()
        assert w.grad.tolist() == [2.0] * 3


# -------------------------------------------------------------------------------------------------------- bad input


def test_what_is_told_of_wrong_arguments(fake) -> None:
    stream, event = polyad.Stream("fake:1"), polyad.Event("fake")
    x = polyad.ones(1, device="fake")
    for call, error, text in (
        (lambda: event.record(stream), RuntimeError, "record: the event is of fake:0, the stream of fake:1"),
        (lambda: x.record_stream(stream), RuntimeError, "record_stream: the tensor is on fake:0"),
        (lambda: x.record_stream(3), TypeError, "record_stream: stream is int 3"),
        (lambda: stream.wait_stream(None), TypeError, "wait_stream: stream is"),
        (lambda: stream.wait_event(stream), TypeError, "wait_event: event is"),
        (lambda: event.elapsed_time(polyad.Event("fake")), ValueError, "an event without timing has no time"),
        (lambda: event.elapsed_time(polyad.Event("fake:1")), RuntimeError, "the events are of fake:0 and fake:1"),
        (lambda: event.elapsed_time(0), TypeError, "elapsed_time: end_event is int 0"),
        (lambda: polyad.Stream("fake:7"), RuntimeError, "there is no such device"),
        (lambda: polyad.Stream(2.5), TypeError, "device: 2.5 is no device"),
    ):
        with pytest.raises(error, match=text):
            call()
    timed = [polyad.Event("fake", enable_timing=True) for _ in range(2)]
    with pytest.raises(ValueError, match="an event was not recorded"):
        timed[0].elapsed_time(timed[1])


def test_a_stream_of_a_backend_that_was_replaced_is_forgotten(fake) -> None:
    from polyad import backends

    polyad.accelerator.set_stream(polyad.Stream("fake"))
    assert polyad.accelerator.current_stream("fake").stream_id == 1
    backends.unregister("fake")
    backends.register("fake", type(fake)(devices=1))
    assert polyad.accelerator.current_stream("fake").stream_id == 0
