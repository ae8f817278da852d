"""Memory that processes share, and processes that are started together."""

from __future__ import annotations

import os
import sys

import pytest

import polyad
from pickled import fail_as_second, kill_itself, write_and_report
from polyad import multiprocessing as mp, nn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hands no file descriptors on")


def test_memory_is_shared_in_place() -> None:
    x = polyad.arange(6.0).reshape(2, 3).t()
    y = x.share_memory_()
    assert y is x
    assert (x.is_shared(), x.stride(), x.tolist()) == (True, (1, 3), [[0, 3], [1, 4], [2, 5]])
    assert x.untyped_storage().is_shared()
    assert x.t()[1:].is_shared()
    assert not polyad.zeros(1).is_shared()
    before = x.data_ptr()
    assert x.share_memory_().data_ptr() == before
    assert polyad.zeros(0).share_memory_().is_shared()
    assert nn.Parameter(polyad.ones(2)).share_memory_().requires_grad


def test_memory_elsewhere_is_refused() -> None:
    with pytest.raises(RuntimeError, match="only memory of the cpu"):
        polyad.empty(2, device="meta").share_memory_()


def test_descriptors_are_closed_with_the_memory() -> None:
    count = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    if count is None:
        pytest.skip("no /proc")
    for _ in range(20):
        polyad.zeros(4).share_memory_()
    assert len(os.listdir("/proc/self/fd")) == count


def test_processes_see_what_others_write() -> None:
    model = nn.Linear(2, 2).share_memory()
    nn.init.zeros_(model.weight)
    spawning = mp.get_context("spawn")
    results, done = spawning.SimpleQueue(), spawning.Event()
    context = mp.spawn(write_and_report, (model, results, done), nprocs=2, join=False)
    told = []
    while len(told) < 2:
        context.join(0.1)  # raises what a process raised, which then reports nothing
        while not results.empty():
            told.append(results.get())
    told.sort(key=lambda row: row[0])
    done.set()
    while not context.join():
        pass
    assert model.weight.tolist() == [[1, 1], [2, 2]]
    assert [row[:3] for row in told] == [(0, True, "Parameter"), (1, True, "Parameter")]
    told[0][3].data.fill_(7)
    assert model.bias.tolist() == [7, 7]
    assert told[0][4].tolist() == [1, 1]


def test_what_a_process_raises_is_raised_and_ends_the_others() -> None:
    with pytest.raises(mp.ProcessRaisedException, match=r"(?s)Process 1 terminated.*KeyError: 'no such key'") as caught:
        mp.spawn(fail_as_second, nprocs=2)
    assert caught.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="signal SIGKILL") as ended:
        mp.spawn(kill_itself)
    assert (ended.value.exit_code, ended.value.signal_name) == (-9, "SIGKILL")
    assert not mp.active_children()


def test_strategies() -> None:
    """Scripts choose "file_system" lest descriptors run out."""
    before = mp.get_sharing_strategy()
    try:
        for name in mp.get_all_sharing_strategies():
            mp.set_sharing_strategy(name)
            assert mp.get_sharing_strategy() == name
    finally:
        mp.set_sharing_strategy(before)
    with pytest.raises(ValueError, match="no 'sockets'"):
        mp.set_sharing_strategy("sockets")
