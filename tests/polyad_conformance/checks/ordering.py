"""Work that has not finished: whatever a device does later, it must seem to have been done when it was asked for.

The checks ask for much at once and read at the end, so that a device with a queue gets far behind. A device that
computes while it is called passes them all the same.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import float32, uint8
from polyad.devices import fallback
from polyad.interop.numpy import numpy_dtype

from ..calls import Target, UnsupportedByDeclaration
from ..layouts import to_host

SIZE = 1 << 14
TURNS = 16


def filled(number: int) -> np.ndarray:
    return np.full(SIZE, number, np.float32)


def assert_all(host: Any, number: float, what: str) -> None:
    wrong = np.asarray(host) != number
    assert not wrong.any(), (
        f"{what}: {int(wrong.sum())} of {wrong.size} elements are not {number}, but {host[wrong][0]}"
    )


def busy(target: Target) -> Any:
    """Give the device something to do that takes a while; the result is ones, and must be kept until then."""
    work = polyad.ones(200, 200, device=target.device)
    with target.watching():
        for _ in range(4):
            work = work @ work / 200
    return work


def check_synchronize(target: Target) -> None:
    """Synchronising waits and changes nothing; reading without it gives finished results."""
    work = busy(target)
    target.backend.synchronize(target.full_device)
    first = np.array(target.backend.to_host(work._array))
    assert np.allclose(first, 1.0, atol=1e-3), "values read after synchronize are not the computed ones"
    work = busy(target)
    assert np.allclose(target.backend.to_host(work._array), 1.0, atol=1e-3), "values read without synchronize are stale"


def check_order(target: Target) -> None:
    """A copy sees what was written before it and nothing that was written after it."""
    backend, device = target.backend, target.full_device
    work = busy(target)
    source = backend.from_host(filled(-1), float32, device)
    copies = []
    for turn in range(TURNS):
        backend.fill(source, turn)
        copies.append(backend.empty((SIZE,), float32, device))
        backend.copy(copies[-1], source)
    for turn, copied in enumerate(copies):
        assert_all(backend.to_host(copied), turn, f"copy {turn} of memory that was written again at once")
    tensor = polyad.zeros(SIZE, dtype=float32, device=target.device)
    sums = []
    with target.watching():
        for _ in range(TURNS):
            sums.append(tensor + 0)
            tensor.add_(1)
    for turn, one in enumerate(sums):
        assert_all(to_host(one), turn, f"result {turn} of an op whose input was written in place at once")
    del work


def check_freed_memory(target: Target) -> None:
    """Memory that was given up while work that reads it was waiting is not written before that work is done."""
    backend, device = target.backend, target.full_device
    work = busy(target)
    copies = []
    for turn in range(TURNS):
        source = backend.from_host(filled(turn), float32, device)
        copies.append(backend.empty((SIZE,), float32, device))
        backend.copy(copies[-1], source)
        del source
        backend.fill(backend.empty((SIZE,), float32, device), -1)  # may get the source's memory
    for turn, copied in enumerate(copies):
        assert_all(backend.to_host(copied), turn, f"copy {turn} of memory that was given up at once")
    tensor = polyad.zeros(SIZE, dtype=float32, device=target.device)
    with target.watching():
        for _ in range(TURNS):
            tensor = (tensor + 1) * 2 - tensor  # x + 2, and two results that nobody keeps
    assert_all(to_host(tensor), 2 * TURNS, "a chain of ops whose inner results are given up at once")
    del work


def check_host_memory(target: Target) -> None:
    """What was read from the device is the host's: neither side's later writes reach the other.

    A backend that declares ``shared_host_memory`` may show the device's memory itself.
    """
    backend, device = target.backend, target.full_device
    if "shared_host_memory" in backend.capabilities(device).features:
        raise UnsupportedByDeclaration(f"{device} declares that the host reads and writes its memory in place")
    array = backend.from_host(filled(1), float32, device)
    read = backend.to_host(array)
    backend.fill(array, 2)
    backend.synchronize(device)
    assert_all(read, 1, "values that were read, after the device wrote its memory again")
    read = backend.to_host(array)
    if read.flags.writeable:
        read.fill(3)
        assert_all(backend.to_host(array), 2, "device memory, after the host wrote into values that it had read")
    for _ in range(5):  # on a busy machine the device may be done before the host gets to write
        host = filled(4)
        work = busy(target)
        array = backend.from_host(host, float32, device)
        host.fill(5)
        assert_all(backend.to_host(array), 4, "from_host of an array that the host wrote again at once")
        del work


def check_threads(target: Target) -> None:
    """Several threads that allocate, copy, compute and read at once each get their own results; what one asked for,
    another may read.
    """
    failures: list[str] = []
    waiting = busy(target)

    def work(number: int) -> None:
        try:
            with fallback.using_policy("allow"):  # the policy is each thread's own
                if not np.allclose(target.backend.to_host(waiting._array), 1.0, atol=1e-3):
                    failures.append(f"thread {number}: what another thread computes is read before it is finished")
                for turn in range(30):
                    tensor = polyad.full((257,), number, device=target.device, dtype=float32)
                    total = (tensor + turn).sum().item()
                    if total != 257 * (number + turn):
                        failures.append(f"thread {number}, turn {turn}: sum {total}, expected {257 * (number + turn)}")
        except BaseException as error:
            failures.append(f"thread {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not failures, failures[0]


def check_writes_by_threads(target: Target) -> None:
    """What two threads write into different elements of one memory all lands: by rows, by turns, next to each other."""
    ways = {
        "halves": ((SIZE // 2,), (1,), (0, SIZE // 2)),
        "every second element": ((SIZE // 2,), (2,), (0, 1)),
        "columns": ((SIZE // 16, 8), (16, 1), (0, 8)),
    }
    for dtype in (one for one in (uint8, float32) if one in target.dtypes):
        for way, layout in ways.items():
            wrong = _write_at_once(dtype, *layout, target)
            assert not wrong, f"{dtype.name}, {way}: {wrong}"
    base = polyad.zeros(2, SIZE, device=target.device, dtype=float32)

    def add(number: int) -> None:
        with fallback.using_policy("allow"):
            for _ in range(TURNS):
                base[number].add_(1)

    _run(add, 2)
    assert_all(to_host(base), TURNS, "rows that two threads added to in place")


def _write_at_once(
    dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offsets: tuple[int, ...], target: Target
) -> str:
    """What goes wrong when each of several threads fills, and copies into, a window of one memory."""
    backend, device, twin = target.backend, target.full_device, numpy_dtype(dtype)
    root = backend.root(backend.from_host(np.zeros(SIZE, twin), dtype, device))
    windows = [backend.as_strided(root, dtype, shape, strides, offset) for offset in offsets]
    meet = threading.Barrier(len(windows))
    wrong: list[str] = []

    def work(number: int) -> None:
        try:
            source = backend.from_host(np.full(shape, 100 + number, twin), dtype, device)
            for turn in range(TURNS):
                meet.wait(30)
                if turn % 2:
                    backend.copy(windows[number], source)
                else:
                    backend.fill(windows[number], number + 1)
                backend.synchronize(device)
                meet.wait(30)
                written = 100 + number if turn % 2 else number + 1
                if not np.all(backend.to_host(windows[number]) == written):
                    wrong.append(f"what thread {number} wrote in turn {turn} is lost")
        except BaseException as error:
            wrong.append(f"thread {number}: {type(error).__name__}: {error}")
            meet.abort()

    _run(work, len(windows))
    return wrong[0] if wrong else ""


def _run(work: Any, count: int) -> None:
    """*work* of 0 to count - 1 in threads that take turns as often as possible."""
    interval = sys.getswitchinterval()
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"


DEVICE_CHECKS = (
    check_synchronize,
    check_order,
    check_freed_memory,
    check_host_memory,
    check_threads,
    check_writes_by_threads,
)
"""Called as ``check(target)``."""
