"""Spreading a kernel's work over the processor's cores.

NumPy computes on one core and releases the interpreter lock while it does; only BLAS starts threads of its own. A
kernel that goes over many images is faster when each core takes its own images all the way through than when BLAS
shares out every product: data stays in the core's cache. So `spread` runs ranges of a kernel's work in threads, and
holds BLAS to one thread for that time.

Holding BLAS to one thread works with OpenBLAS, which NumPy's wheels bring. With another BLAS the work runs in the
calling thread and BLAS keeps its own threads. ``POLYAD_NUM_THREADS`` and `set_num_threads` limit the number of threads;
1 turns them off.
Results do not depend on it: who adds up results of ranges must choose ranges that do not (`ranges`).
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from .quiet import quiet

WORTH_THREADS = 1 << 20
"""From how many elements handled on work is spread over threads."""


def _allowed() -> int:
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    wanted = os.environ.get("POLYAD_NUM_THREADS", "")
    return max(1, min(cores, int(wanted))) if wanted.isdigit() else cores


class _Blas:
    """The OpenBLAS that an extension module is linked with, held to one thread while anyone asks for it."""

    def __init__(self, extension: str) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.before = 1
        self.get: Any = None
        self.set: Any = None
        try:
            # Symbols of a library that NumPy's extension is linked with are found through the extension.
            library = ctypes.CDLL(extension)
        except OSError:
            return
        for pattern in (
            "scipy_openblas_%s_num_threads64_",
            "scipy_openblas_%s_num_threads",
            "openblas_%s_num_threads64_",
            "openblas_%s_num_threads",
        ):
            try:
                self.get, self.set = getattr(library, pattern % "get"), getattr(library, pattern % "set")
                return
            except AttributeError:
                continue

    def __enter__(self) -> None:
        if self.set is None:
            return
        with self.lock:
            self.holders += 1
            if self.holders == 1:
                self.before = self.get()
                self.set(1)

    def limit(self, threads: int) -> None:
        """Let BLAS use *threads* threads; while it is held, once it is let go."""
        if self.set is None:
            return
        with self.lock:
            self.before = threads
            if not self.holders:
                self.set(threads)

    def __exit__(self, *error: Any) -> None:
        if self.set is None:
            return
        with self.lock:
            self.holders -= 1
            if not self.holders:
                self.set(self.before)


class _Workers:
    """The threads, started when they are first needed, and anew in a forked child."""

    def __init__(self) -> None:
        self.blas: _Blas | None = None
        self.scipys: _Blas | None = None
        self.pool: ThreadPoolExecutor | None = None
        self.threads = 1
        self.lock = threading.Lock()
        self.held = 0

    def start(self) -> None:
        with self.lock:  # a second library object would not know how many hold the first
            if self.blas is None:
                blas = _Blas(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
                self._use(blas, _thread_limit or _allowed())
                self.blas = blas

    def use(self, threads: int) -> None:
        """Use *threads* threads from now on; what runs goes on with the pool it has, which ends with its last user."""
        assert self.blas is not None
        with self.lock:
            self._use(self.blas, threads)

    def _use(self, blas: _Blas, threads: int) -> None:
        if blas.set is None:
            return
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads - 1, thread_name_prefix="polyad-numpy") if threads > 1 else None
        if _thread_limit is not None:
            blas.limit(threads)
            if self.scipys is not None:
                self.scipys.limit(threads)

    def know_scipys(self, extension: str) -> None:
        """Hold and limit the BLAS of SciPy too, which brings a library of its own."""
        with self.lock:
            if self.scipys is not None:
                return
            found = _Blas(extension)
            if _thread_limit is not None:
                found.limit(_thread_limit)
            for _ in range(self.held):  # for example by the thread that imports SciPy just now
                found.__enter__()
            self.scipys = found

    def __enter__(self) -> None:
        if self.blas is None:
            self.start()
        with self.lock:
            self.held += 1
            self.blas.__enter__()  # type: ignore[union-attr]
            if self.scipys is not None:
                self.scipys.__enter__()

    def __exit__(self, *error: Any) -> None:
        with self.lock:
            self.held -= 1
            self.blas.__exit__()  # type: ignore[union-attr]
            if self.scipys is not None:
                self.scipys.__exit__()


_thread_limit: int | None = None
"""What `set_num_threads` was told; a forked child keeps to it."""
_workers = _Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _workers.__init__())  # type: ignore[misc]


def one_thread() -> AbstractContextManager[None]:
    """While this is entered, each BLAS computes in the thread that calls it.

    OpenBLAS's threads spin while they wait for each other. Where the cores are not all its own (another program runs,
    or the other BLAS's threads still spin) a call can take a hundred times as long as in one thread.
    """
    return _workers


def know_scipys_blas(extension: str) -> None:
    """Count in the BLAS that SciPy's *extension* module is linked with; for who imports SciPy's linear algebra."""
    _workers.know_scipys(extension)


def num_threads() -> int:
    """How many threads a kernel may use."""
    if _workers.blas is None:
        _workers.start()
    return _workers.threads


def set_num_threads(number: int) -> None:
    """Let a kernel, and BLAS in it, use *number* threads."""
    global _thread_limit
    _thread_limit = number
    if _workers.blas is None:
        _workers.start()
    else:
        _workers.use(number)
    for listener in _listeners:
        listener(number)


_listeners: list[Callable[[int], Any]] = []


def on_change(listener: Callable[[int], Any]) -> None:
    """Call *listener* with each number that `set_num_threads` is told."""
    _listeners.append(listener)


def ranges(count: int, parts: int) -> list[tuple[int, int]]:
    """``range(count)`` in at most *parts* pieces of nearly equal length, as (first, end)."""
    parts = max(1, min(parts, count))
    return [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]


def spread(work: Callable[[int, int], Any], count: int, parts: int = 0, cost: float = math.inf) -> list[Any]:
    """Call ``work(first, end)`` on pieces of ``range(count)``, several at a time; returns the results in order.

    There are *parts* pieces, or as many as there are threads; work whose *cost*, in elements handled, is below a
    million is a single piece. NumPy's warnings are off in it, so a kernel that calls this is not `quiet` itself.
    """
    if _workers.blas is None:
        _workers.start()
    pool = _workers.pool
    if cost < WORTH_THREADS or count < 2:
        if pool is None or cost >= WORTH_THREADS:
            return [_quietly(work, 0, count)]
        with _workers.blas:  # type: ignore[union-attr]
            return [_quietly(work, 0, count)]
    pieces = ranges(count, parts or _workers.threads)
    if pool is None or len(pieces) == 1:
        return [_quietly(work, first, end) for first, end in pieces]
    results: list[Any] = [None] * len(pieces)
    waiting = iter(range(len(pieces)))
    lock = threading.Lock()

    def take() -> None:
        while True:
            with lock:
                piece = next(waiting, None)
            if piece is None:
                return
            results[piece] = _quietly(work, *pieces[piece])

    with _workers.blas:  # type: ignore[union-attr]
        others = [pool.submit(take) for _ in range(min(_workers.threads, len(pieces)) - 1)]
        try:
            take()
        finally:
            wait(others)
    for other in others:
        other.result()
    return results


@quiet
def _quietly(work: Callable[[int, int], Any], first: int, end: int) -> Any:
    return work(first, end)
