"""Bytes to the device and back, in all three ways; CPU devices are told to stage as if they had memory of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import polyad
from polyad.errors import DeviceError, KernelFailure

PIECE = 1000


@pytest.fixture
def device(opencl):
    """A device whose transfers are staged, however small."""
    from polyad_opencl.runtime import discovery
    from polyad_opencl.runtime.device import Device

    device = Device(0, discovery.devices()[0])
    device.shares_host_memory = False
    device.transfers.staged, device.transfers.staged_from, device.transfers.piece = True, 1, PIECE
    return device


def some(nbytes: int, seed: int = 0):
    return np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)


def read(device, block, nbytes, begin=0):
    host = np.zeros(nbytes, np.uint8)
    device.read(host, block.buffer, begin)
    return host


def failing(monkeypatch, error, after):
    """Let the driver's copies raise *error* once, after some."""
    import pyopencl as cl

    enqueue, calls = cl.enqueue_copy, []

    def copy(*args, **kwargs):
        calls.append(args)
        if len(calls) == after + 1:
            raise error
        return enqueue(*args, **kwargs)

    monkeypatch.setattr(cl, "enqueue_copy", copy)


def driver_error(name):
    import pyopencl as cl

    class Error(cl.RuntimeError):
        code = getattr(cl.status_code, name)

    return Error(f"clEnqueueWriteBuffer failed: {name}")


# ---------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("way", ["plain", "mapped", "staged"])
def test_bytes_arrive_where_they_belong(device, way):
    transfers = device.transfers
    transfers.staged = way == "staged"
    transfers.mapped_from = 1 if way == "mapped" else 1 << 40
    block = device.pool.take(8 * PIECE)
    for nbytes in (1, 3, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, 7 * PIECE + 7):
        for begin in (0, 13):
            sent, around = some(nbytes), some(8 * PIECE, 1)
            device.write(block.buffer, around)
            device.write(block.buffer, sent, begin)
            np.testing.assert_array_equal(read(device, block, nbytes, begin), sent)
            around[begin : begin + nbytes] = sent
            np.testing.assert_array_equal(read(device, block, 8 * PIECE), around)
    assert transfers.pinned == (4 * PIECE if way == "staged" else 0)


def test_the_memory_decides_which_way(device):
    from polyad_opencl.runtime.transfers import Transfers

    assert Transfers(device).staged
    device.shares_host_memory = True
    assert not Transfers(device).staged


def test_small_transfers_need_no_pinned_memory(device):
    device.transfers.staged_from = 100
    block = device.pool.take(100)
    device.write(block.buffer, some(99))
    np.testing.assert_array_equal(read(device, block, 99), some(99))
    assert device.transfers.pinned == 0


def test_a_write_neither_waits_for_the_device_nor_needs_its_source(device):
    import pyopencl as cl

    block, sent = device.pool.take(2 * PIECE), some(2 * PIECE)
    device.write(block.buffer, np.zeros(2 * PIECE, np.uint8))
    gate = cl.UserEvent(device.context)
    barrier = cl.enqueue_barrier(device.queue, wait_for=[gate])
    try:
        device.write(block.buffer, sent)
        waiting = barrier.command_execution_status != cl.command_execution_status.COMPLETE
        sent[:] = 0
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)
    assert waiting
    np.testing.assert_array_equal(read(device, block, 2 * PIECE), some(2 * PIECE))


def test_more_than_all_blocks_hold_waits_for_the_device(device):
    import pyopencl as cl

    nbytes = 9 * PIECE
    block, sent = device.pool.take(nbytes), some(nbytes)
    device.write(block.buffer, np.zeros(nbytes, np.uint8))
    gate = cl.UserEvent(device.context)
    cl.enqueue_barrier(device.queue, wait_for=[gate])
    thread = threading.Thread(target=device.write, args=(block.buffer, sent))
    thread.start()
    thread.join(0.05)
    waited = thread.is_alive()
    gate.set_status(cl.command_execution_status.COMPLETE)
    thread.join()
    assert waited
    np.testing.assert_array_equal(read(device, block, nbytes), sent)


def test_kernels_and_transfers_keep_their_order(device):
    source = "__kernel void add(__global uchar *x) { x[get_global_id(0)] += 1; }"
    add = device.kernel(source, "add", "p", what="add")
    nbytes = 3 * PIECE + 5
    block = device.pool.take(nbytes)
    for seed in range(20):
        device.write(block.buffer, some(nbytes, seed))
        add((nbytes,), block.buffer)
        device.write(block.buffer, some(PIECE + 1, seed + 100), 1)
        add((nbytes,), block.buffer)
        expected = some(nbytes, seed) + np.uint8(1)
        expected[1 : PIECE + 2] = some(PIECE + 1, seed + 100)
        np.testing.assert_array_equal(read(device, block, nbytes), expected + np.uint8(1))


def test_arrays_with_gaps(device, monkeypatch):
    from polyad_kernels.array import Array
    from polyad_opencl.backend import OpenCLBackend

    monkeypatch.setattr("polyad_opencl.backend.opened", lambda name: device)
    backend, values = OpenCLBackend(), np.arange(60 * 70, dtype=np.int32).reshape(60, 70)
    for sent in (values, values.T, values[::2, 3:50], values[:, :0], values[0, 0], np.broadcast_to(values[0], (9, 70))):
        made = backend.from_host(sent, polyad.int32, polyad.device("opencl:0"))
        np.testing.assert_array_equal(backend.to_host(made), sent)
        back = backend.to_host(Array(made.block, made.dtype, made.shape[::-1], made.steps[::-1], 0))
        np.testing.assert_array_equal(back, sent.T)


def test_cpu_copies_once_and_shares_nothing(opencl, monkeypatch):
    from polyad_opencl.backend import OpenCLBackend

    came, honest = [], OpenCLBackend.to_host
    monkeypatch.setattr(OpenCLBackend, "to_host", lambda self, array: came.append(honest(self, array)) or came[-1])
    x = polyad.arange(12, device=opencl).reshape(3, 4)
    for view in (x, x.T, x[::2, 1:], x[0, 0]):
        there, again = view.cpu(), view.cpu()
        assert np.shares_memory(there.numpy(), came[-2])
        there += 1
        assert (again + 1).tolist() == there.tolist()
        assert again.tolist() == view.tolist()
    with pytest.raises(TypeError, match="memory NumPy cannot see"):
        x.numpy()


def test_print_brings_what_it_shows(opencl, monkeypatch):
    from polyad_opencl.backend import OpenCLBackend

    came, honest = [], OpenCLBackend.to_host
    monkeypatch.setattr(OpenCLBackend, "to_host", lambda self, array: came.append(honest(self, array)) or came[-1])
    x = polyad.arange(700 * 600, device=opencl).reshape(700, 600)
    for view in (x, x.T, x[3::2, 1:], x.reshape(-1), x.reshape(60, 70, 100), x.expand(3, 700, 600)):
        shown = repr(view).split()
        assert came[-1].size <= 6**view.ndim
        assert shown == (repr(view.cpu())[:-1] + ", device='opencl:0')").split()
    assert "..." in repr(x[0, 0].expand(10**12))  # more than any memory


# ---------------------------------------------------------------------------------------------------------- sharing


def test_threads_transfer_at_once(device):
    wrong = []

    def work(seed):
        block = device.pool.take(6 * PIECE)
        for count in range(40):
            sent = some(1 + (seed * 977 + count * 331) % (6 * PIECE), seed)
            device.write(block.buffer, sent)
            got = read(device, block, sent.nbytes)
            if not (got == sent).all():
                wrong.append((seed, count))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert device.transfers.pinned <= 4 * PIECE


def test_a_busy_lane_is_not_waited_for(device):
    block, sent = device.pool.take(3 * PIECE), some(3 * PIECE)
    with device.transfers._up.lock, device.transfers._down.lock:
        device.write(block.buffer, sent)
        np.testing.assert_array_equal(read(device, block, 3 * PIECE), sent)
        device.empty_cache()
    assert device.transfers.pinned == 0


def test_pinned_memory_is_bounded_and_given_back(device):
    block, sent = device.pool.take(20 * PIECE), some(20 * PIECE)
    before = device.pool.stats()
    for _ in range(2):
        device.write(block.buffer, sent)
        assert device.transfers.pinned == 2 * PIECE
        np.testing.assert_array_equal(read(device, block, 20 * PIECE), sent)
        assert device.transfers.pinned == 4 * PIECE
        assert device.pool.stats() == before
        device.write(block.buffer, sent)  # the device may still be at it
        device.empty_cache()
        assert device.transfers.pinned == 0
    np.testing.assert_array_equal(read(device, block, 20 * PIECE), sent)


def test_without_pinned_memory_transfers_are_plain(device, monkeypatch):
    import pyopencl as cl

    def refused(*args):
        raise driver_error("OUT_OF_HOST_MEMORY")

    block, sent = device.pool.take(3 * PIECE), some(3 * PIECE)
    monkeypatch.setattr(cl, "enqueue_map_buffer", refused)
    device.write(block.buffer, sent)
    np.testing.assert_array_equal(read(device, block, 3 * PIECE), sent)
    assert device.transfers.pinned == 0
    monkeypatch.undo()
    np.testing.assert_array_equal(read(device, block, 3 * PIECE), sent)
    assert device.transfers.pinned == 2 * PIECE


def test_pinned_memory_makes_room_for_tensors(device, monkeypatch):
    block = device.pool.take(2 * PIECE)
    device.write(block.buffer, some(2 * PIECE))
    create, refused = device.pool._create, []

    def full(size):
        if device.transfers.pinned:
            refused.append(size)
            raise driver_error("MEM_OBJECT_ALLOCATION_FAILURE")
        return create(size)

    monkeypatch.setattr(device.pool, "_create", full)
    device.pool.take(100 * PIECE)
    assert len(refused) == 1
    np.testing.assert_array_equal(read(device, block, 2 * PIECE), some(2 * PIECE))


# ---------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("after", [0, 1, 2, 4])
@pytest.mark.parametrize("direction", ["reading from", "writing to"])
def test_a_device_lost_in_a_transfer_is_explained(device, monkeypatch, direction, after):
    block = device.pool.take(5 * PIECE)
    device.write(block.buffer, some(5 * PIECE))
    failing(monkeypatch, driver_error("DEVICE_NOT_AVAILABLE"), after)
    move = device.read if direction == "reading from" else lambda host, buffer, begin: device.write(buffer, host, begin)
    with pytest.raises(DeviceError, match=f"{direction} the device: opencl:0 was lost"):
        move(some(5 * PIECE), block.buffer, 0)
    with pytest.raises(DeviceError, match="the device was lost"):
        device.write(block.buffer, some(5 * PIECE))
    device.empty_cache()  # asks the driver nothing
    assert device.transfers.pinned >= 2 * PIECE


@pytest.mark.parametrize("what", ["failure", "interrupt"])
@pytest.mark.parametrize("after", [0, 1, 2, 4])
def test_transfers_go_on_after_one_that_broke_off(device, monkeypatch, what, after):
    block, sent = device.pool.take(5 * PIECE), some(5 * PIECE)
    error = driver_error("INVALID_VALUE") if what == "failure" else KeyboardInterrupt()
    for move in (lambda: device.write(block.buffer, some(5 * PIECE, 1)), lambda: read(device, block, 5 * PIECE)):
        failing(monkeypatch, error, after)
        with pytest.raises(KernelFailure if what == "failure" else KeyboardInterrupt):
            move()
        monkeypatch.undo()
        device.write(block.buffer, sent)
        np.testing.assert_array_equal(read(device, block, 5 * PIECE), sent)
    assert device.transfers.pinned == 4 * PIECE
    assert not device.transfers._up.lock.locked()
    assert not device.transfers._down.lock.locked()


def array_of(device, values):
    from polyad.interop.numpy import polyad_dtype
    from polyad_kernels.array import new

    made = new(device, values.shape, polyad_dtype(values.dtype))
    device.write(made.buffer, values.view(np.uint8))
    return made


def test_a_wrong_index_is_told_at_the_next_read(device, monkeypatch):
    from polyad_kernels.kernels.indexing.index_select import index_select

    nbytes = 3 * PIECE
    x, other = array_of(device, np.arange(nbytes, dtype=np.uint8)), device.pool.take(nbytes)
    for read_alone in (True, False):
        good = index_select(x, array_of(device, np.array([1, 2])), 0)
        index_select(x, array_of(device, np.array([0, nbytes])), 0)
        if not read_alone:  # what is told stays to be told when the read breaks off
            failing(monkeypatch, KeyboardInterrupt(), 2)
            with pytest.raises(KeyboardInterrupt):
                read(device, other, nbytes)
            monkeypatch.undo()
        with pytest.raises(IndexError, match=rf"{nbytes}"):
            read(device, other, nbytes)
        assert read(device, good, 2).tolist() == [1, 2]
        assert not device.checks


def test_what_another_thread_announced_is_not_forgotten(device):
    from polyad_kernels.kernels.indexing.index_select import index_select

    x = array_of(device, np.arange(9, dtype=np.uint8))
    announced, go = threading.Event(), threading.Event()
    errors = []
    expect = device.expect

    def slow(judge):
        number = expect(judge)
        announced.set()
        go.wait()
        return number

    def work():
        try:
            index_select(x, array_of(device, np.array([77])), 0)
            device.finish()
        except IndexError as error:
            errors.append(str(error))

    device.expect = slow
    thread = threading.Thread(target=work)
    thread.start()
    announced.wait()
    assert read(device, x, 3).tolist() == [0, 1, 2]  # between announcement and kernel
    go.set()
    thread.join()
    assert len(errors) == 1
    assert "77" in errors[0]


STAGED = """
    import os, threading
    import numpy as np
    import polyad
    from polyad.devices import registry

    device = registry.get("opencl").device(polyad.device("opencl:0"))
    device.transfers.staged, device.transfers.staged_from, device.transfers.piece = True, 1, 1000
    x = polyad.arange(5000, device="opencl")
    assert x.cpu().tolist() == list(range(5000))
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STAGED) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ,
        check=False,
    )


def test_a_forked_process_leaves_pinned_memory_alone(opencl):
    made = run(
        """
        y = polyad.ones(5000).to("opencl")
        if os.fork() == 0:
            for use in (x.cpu, lambda: polyad.ones(5000).to("opencl")):
                try:
                    use()
                except polyad.errors.DeviceError as error:
                    print("child:", error.fix, flush=True)
            polyad.accelerator.empty_cache()
            raise SystemExit(3)
        _, status = os.wait()
        print("parent:", os.waitstatus_to_exitcode(status), x.sum().item(), y.cpu().sum().item())
        """
    )
    assert made.stderr == ""
    assert made.stdout.count("child: start worker processes with the start method spawn") == 2
    assert "parent: 3 12497500 5000.0" in made.stdout


def test_the_interpreter_ends_quietly_in_a_transfer(opencl):
    made = run(
        """
        started = threading.Event()
        def work():
            while True:
                x.cpu().to("opencl")
                started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        """
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
