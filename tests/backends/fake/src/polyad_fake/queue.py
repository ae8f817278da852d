"""A stream of a device: the thread that does its work, in the order in which it was asked for.

Invariants: `submit` never waits; work never raises into the thread: what fails is kept until somebody waits; putting
something in is safe from a finalizer, which may run in the middle of anything.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from polyad.errors import DeviceError

_all: weakref.WeakSet[Queue] = weakref.WeakSet()
_numbers = itertools.count(1)


class Queue:
    """A queue of work, and its thread, which starts with the first of it.

    Attributes:
        number: tells the queues of a process apart.
        place: the number of the stream among its device's.
        last: the number of the last piece of work that was put in; they are counted from 1.
        done: how many pieces of work are finished.
        stopped: why nothing will be done any more; empty while all is well.
    """

    def __init__(self, name: str, place: int = 0) -> None:
        self.name, self.place = name, place
        self.number = next(_numbers)
        self.last = self.done = 0
        self.stopped = ""
        self._count = itertools.count(1)
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._failures: deque[Exception] = deque()
        self._open = threading.Event()
        self._open.set()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        _all.add(self)

    def submit(self, work: Callable[[], None]) -> int:
        """Have *work* done after everything before it. Returns at once, with its number."""
        number = next(self._count)
        self.last = max(self.last, number)
        self._work.put(work)
        if self._thread is None and not self.stopped:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name=f"{self.name} queue", daemon=True)
                    self._thread.start()
        return number

    def fail(self, error: Exception) -> None:
        """Let whoever waits next hear of *error*."""
        self._failures.append(error)

    def check_open(self) -> None:
        """Raise DeviceError if waiting would last for ever."""
        if not self._open.is_set():
            raise DeviceError(
                f"{self.name}: waiting for work while the queue is paused would last for ever",
                fix="leave the block of paused() first",
            )

    def wait(self) -> None:
        """Return when everything so far is done; raises the first thing that went wrong in it, once."""
        self.check_open()
        if not self.stopped:
            reached = threading.Event()
            number = self.submit(reached.set)
            self.wait_for(reached)
            while self.done < number and not self.stopped:
                time.sleep(0)
        self.raise_failure()

    def wait_for(self, reached: threading.Event) -> None:
        """Return when the queue's thread has set *reached*, or does nothing any more."""
        while not reached.wait(0.1) and not self.stopped:
            pass

    def raise_failure(self) -> None:
        """Raise the first thing that went wrong, once."""
        if self._failures:
            first = self._failures.popleft()
            self._failures.clear()
            raise first

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do nothing meanwhile; what is submitted waits."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def stop(self, why: str) -> None:
        """Do nothing any more. What is in the queue is dropped."""
        self.stopped = why
        self._open.set()
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            self._open.wait()
            if self.stopped:
                break
            try:
                work()
            except Exception as error:
                self._failures.append(error.with_traceback(None))  # frames would keep arrays alive
            finally:
                del work
            self.done += 1


def _after_fork() -> None:
    for one in list(_all):
        if one._thread is not None:
            one._thread = None
            one.stopped = "this process was forked from one that had used it, and the work is done in that one"


os.register_at_fork(after_in_child=_after_fork)
