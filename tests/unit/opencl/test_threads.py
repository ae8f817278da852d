"""Threads that use a device at once, above all for the first time: what one of them keeps is not another's to lose."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import polyad

pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")
import polyad_kernels
import polyad_opencl
from polyad.errors import IndexOutOfRange
from polyad_kernels.memo import memoize

SOURCES = sorted(
    path for package in (polyad_kernels, polyad_opencl) for path in Path(package.__file__).parent.rglob("*.py")
)


def together(count, work):
    """What *count* threads got from ``work(number)``, begun at the same time; an exception counts as a result."""
    results = [None] * count
    barrier = threading.Barrier(count)

    def run(number):
        barrier.wait()
        try:
            results[number] = work(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_that_make_the_same_at_once_get_the_same():
    inside = threading.Barrier(4)

    @memoize
    def make(key):
        inside.wait(5)  # all four are here before the first is done
        return [key]

    made = together(4, lambda number: make("table"))
    assert [result is made[0] for result in made] == [True] * 4
    assert make("table") is made[0]


def test_nothing_else_is_kept():
    # What `functools.cache` gives a thread may be its own, and die with it: see `memoize`.
    for path in SOURCES:
        if path.name not in ("memo.py", "discovery.py", "folder.py"):
            text = path.read_text()
            assert "lru_cache" not in text, path
            assert "functools import cache" not in text, path
            assert "cached_property" not in text, path


def test_memory_of_an_array_that_nobody_holds_is_passed_to_no_kernel():
    # ``f(x).buffer`` as an argument: the array dies before the kernel is enqueued, and another thread gets its memory.
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "buffer":
                assert not isinstance(node.value, (ast.Call, ast.Subscript)), f"{path.name}:{node.lineno}"


RACE = """
import random, sys, threading
import polyad
from polyad.nn import functional as F

def calls():
    rows = polyad.arange(12.0).reshape(3, 4)
    square = polyad.tensor([[4.0, 0.0, 0.0], [1.0, 2.0, 0.0], [2.0, 1.0, 8.0]])
    index = polyad.tensor([2, 0, 1])
    for kernel in (2, 3):
        for stride in (1, 2):
            for size in (4, 5, 6):
                for padding in (0, 1):
                    x = (polyad.arange(size * size).reshape(1, 1, size, size) % 7).float()
                    w = (polyad.arange(kernel * kernel).reshape(1, 1, kernel, kernel) % 5 - 2).float()
                    yield lambda to, x=x, w=w, s=stride, p=padding: F.conv2d(to(x), to(w), stride=s, padding=p)
    yield lambda to: polyad.linalg.solve_triangular(to(square), to(square.T.contiguous()), upper=False)
    yield lambda to: to(rows).sum(1)
    yield lambda to: to(rows).cumsum(1)
    yield lambda to: to(rows)[to(index)]

everything = [*calls()]
expected = [call(lambda tensor: tensor).tolist() for call in everything]
wrong, barrier = [], threading.Barrier(8)

def work(number):
    order = random.Random(number)
    barrier.wait()
    for _ in range(2):
        for place in order.sample(range(len(everything)), len(everything)):
            got = everything[place](lambda tensor: tensor.to(DEVICE)).tolist()
            if got != expected[place]:
                wrong.append((place, got))

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(wrong)
"""


def test_kernels_first_used_by_threads_compute_what_they_should(opencl):
    program = RACE.replace("DEVICE", repr(opencl))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_a_wrong_index_is_raised_where_it_was_passed(machine):
    device = machine.device
    innocent, guilty = threading.Event(), threading.Event()

    def judge(position, value):
        return IndexOutOfRange(f"index {value}")

    def work(number):
        if number:
            noted = device.expect(judge)
            cell = np.array([noted, 0, 7])
            import pyopencl as cl

            cl.enqueue_copy(device.queue, device.trouble_cell, cell)  # as a kernel would
            guilty.set()
            innocent.wait(5)
            device.finish()
        else:
            guilty.wait(5)
            device.finish()
            innocent.set()
        return "fine"

    fine, error = together(2, work)
    assert fine == "fine"
    assert isinstance(error, IndexOutOfRange)
    assert "index 7" in str(error)
    device.finish()  # it was raised, once


def test_a_wrong_index_of_a_thread_that_ended_is_raised_by_the_next(machine):
    import pyopencl as cl

    device = machine.device

    def work(number):
        noted = device.expect(lambda position, value: IndexOutOfRange(f"index {value}"))
        cl.enqueue_copy(device.queue, device.trouble_cell, np.array([noted, 0, 9]))

    together(1, work)
    with pytest.raises(IndexOutOfRange, match="index 9"):
        device.finish()


def test_a_block_may_be_freed_while_another_thread_makes_room(machine, monkeypatch):
    # The garbage collector frees a block in a thread that holds the device's lock, while another, which holds the
    # pool's, waits for the device's: neither may wait for the other.
    device = machine.device
    pool = device.pool
    block = pool.take(1000)
    finish = device.finish

    def waiting():
        with device.lock:
            finish()

    monkeypatch.setattr(device, "finish", waiting)
    pool.take(2000)  # and gives it back: there is something to be freed
    with device.lock:
        thread = threading.Thread(target=pool.empty_cache, daemon=True)
        thread.start()
        time.sleep(0.05)
        freed = threading.Thread(target=pool.give, args=(block,), daemon=True)
        freed.start()
        freed.join(5)
        held = freed.is_alive()
    thread.join(5)
    pool.live += 1  # the block will be given a second time, by its own end
    pool.allocated += block.nbytes
    assert not held


def test_the_account_is_exact_after_threads(machine):
    pool = machine.device.pool
    before = pool.stats()
    together(8, lambda number: [machine.device.pool.take(100 * number + step) for step in range(50)] and None)
    after = pool.stats()
    assert (after.allocated, after.blocks) == (before.allocated, before.blocks)
    assert after.requests == before.requests + 400
    assert polyad.ones(3).sum() == 3
