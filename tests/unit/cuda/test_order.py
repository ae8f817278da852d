"""Streams, events and memory: what is not waited for shows on the stand-in, and what is waited for is right."""

import gc
import threading

import cupy
import pytest

import polyad

N = 1000


def test_a_missing_wait_shows_and_an_event_mends_it():
    side = polyad.cuda.Stream()
    with polyad.cuda.stream(side):
        x = polyad.ones(N, device="cuda")
    unordered = x.cpu()
    assert not bool((unordered == 1).all())
    polyad.cuda.current_stream().wait_event(side.record_event())
    assert bool((x.cpu() == 1).all())


def test_memory_that_another_stream_reads_is_kept_when_that_is_said():
    side = polyad.cuda.Stream()
    results = []
    for said in (False, True):
        x = polyad.full((N,), 3.0, device="cuda")
        side.wait_stream(polyad.cuda.current_stream())
        with polyad.cuda.stream(side):
            y = x * 2
        if said:
            x.record_stream(side)
        del x
        gc.collect()
        other = polyad.zeros(N, device="cuda")  # takes the memory, and overwrites it
        polyad.cuda.current_stream().synchronize()
        with polyad.cuda.stream(side):
            results.append(bool((y.cpu() == 6).all()))
        del other
    assert results == [False, True]


def test_events_tell_when_they_are_reached_and_how_long_it_took():
    start, end = (polyad.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    x = polyad.ones(N, device="cuda").exp()
    end.record()
    assert not end.query()
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    assert x.shape == (N,)


def test_each_thread_has_its_own_stream_and_device():
    seen = {}
    side = polyad.cuda.Stream()
    with polyad.cuda.stream(side), polyad.cuda.device(1):

        def look():
            seen["stream"] = polyad.cuda.current_stream().cuda_stream
            seen["device"] = polyad.zeros(1, device="cuda").device

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert polyad.zeros(1, device="cuda").device == polyad.device("cuda:1")
        assert polyad.cuda.current_stream("cuda:0") == side
    assert seen == {"stream": 0, "device": polyad.device("cuda:0")}
    assert polyad.zeros(1, device="cuda").device == polyad.device("cuda:0")


def test_copies_from_and_to_pinned_memory_are_put_off():
    host = polyad.arange(float(N)).pin_memory()
    assert host.is_pinned()
    x = host.to("cuda", non_blocking=True)
    back = (x + 1).to("cpu", non_blocking=True)
    polyad.cuda.synchronize()
    assert bool((back == polyad.arange(float(N)) + 1).all())


@pytest.mark.parametrize(
    "copied",
    [
        lambda host: host.to("cuda"),
        lambda host: host.cuda(),
        lambda host: polyad.empty(N, device="cuda").copy_(host),
        lambda host: polyad.tensor(host, device="cuda"),
        lambda host: polyad.as_tensor(host.numpy(), device="cuda"),
        lambda host: polyad.zeros(N, device="cuda").index_put((polyad.arange(N, device="cuda"),), host.to("cuda")),
    ],
)
def test_pinned_memory_may_be_changed_after_a_copy_that_waits(copied):
    host = polyad.arange(float(N)).pin_memory()
    x = copied(host)
    host.fill_(-1)
    assert bool((x.cpu() == polyad.arange(float(N))).all())


def test_only_copies_of_pinned_memory_are_waited_for(monkeypatch):
    ordinary, pinned = polyad.arange(float(N)), polyad.arange(float(N)).pin_memory()
    waited = []
    monkeypatch.setattr(
        cupy.cuda.Stream, "synchronize", lambda self, wait=cupy.cuda.Stream.synchronize: waited.append(1) or wait(self)
    )
    kept = [ordinary.to("cuda"), pinned.to("cuda", non_blocking=True)]
    assert not waited
    kept.append(pinned.to("cuda"))
    assert waited


def test_pinned_memory_lives_until_its_copy_is_done():
    x = polyad.full((N,), 2.0).pin_memory().to("cuda", non_blocking=True)
    gc.collect()
    polyad.full((N,), 5.0).pin_memory()
    assert bool((x.cpu() == 2).all())


def test_shared_memory_is_ordered_by_the_stream_that_is_named():
    side = polyad.cuda.Stream()
    with polyad.cuda.stream(side):
        x = polyad.full((N,), 7.0, device="cuda")
        taken = cupy.from_dlpack(x)  # for the null stream, which waits for this one then
    assert taken.data.ptr == x.data_ptr()
    again = polyad.from_dlpack(x)
    assert again.data_ptr() == x.data_ptr()
    assert bool((again.cpu() == 7).all())


def test_operands_on_two_devices_are_refused():
    with pytest.raises(polyad.errors.DeviceError, match="different devices"):
        polyad.ones(2, device="cuda:0") + polyad.ones(2, device="cuda:1")
    moved = polyad.ones(2, device="cuda:1").to("cuda:0")
    assert (moved + 1).tolist() == [2, 2]


def test_a_number_is_a_device_of_the_accelerator():
    first, second = (polyad.device("cuda", index) for index in range(2))
    assert polyad.device(1) == second
    assert (
        polyad.ones(2, device=1).device == polyad.ones(2).to(1).device == polyad.ones(2).to(device=1).device == second
    )
    assert polyad.nn.Linear(2, 2).to(1).weight.device == second
    assert polyad.ones(2).to(0, polyad.float64).device == polyad.tensor([1], device=0).device == first
    for wrong in (7, -1):
        with pytest.raises(RuntimeError):
            polyad.ones(2).to(wrong)
        with pytest.raises(RuntimeError):
            polyad.device(wrong)
    with pytest.raises(TypeError):
        polyad.device(True)
    with pytest.raises(TypeError):
        polyad.device(0, 1)


def test_numbers_and_indices_of_the_cpu_go_with_a_device():
    x = polyad.arange(6.0, device="cuda:1").reshape(3, 2)
    assert (x / polyad.tensor(2.0).sqrt()).device.index == 1
    assert polyad.where(x > 1, x, polyad.tensor(-1.0)).tolist() == [[-1, -1], [2, 3], [4, 5]]
    assert sorted(x[polyad.randperm(3)][:, 0].tolist()) == [0, 2, 4]
    x[polyad.tensor([True, False, False])] = polyad.tensor(7.0)
    assert x[0].tolist() == [7, 7]


def test_a_number_of_the_cpu_can_be_captured():
    x, scale = polyad.arange(3.0, device="cuda"), polyad.tensor(2.0)
    polyad.cuda.synchronize()
    with polyad.cuda.stream(polyad.cuda.Stream()):
        assert (x / scale - scale).tolist() == [-2, -1.5, -1]
        graph = polyad.cuda.CUDAGraph()
        with polyad.cuda.graph(graph):
            y = x / scale - scale
        graph.replay()
        assert y.tolist() == [-2, -1.5, -1]
