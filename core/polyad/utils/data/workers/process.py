"""What runs in a worker process.

The main thread reads batches. Another thread reads what the loader sends: so the loader never waits to send, can ask
for the stack of a worker that does not answer, and its end, by whatever means, ends the worker, even in the midst of a
sample.

From the loader: ``("work", Job)`` first; ``("epoch", seed)`` when an epoch begins; ``("batch", ticket, number,
indices)``; an empty message to ask for the stack. To the loader: ``("batch", ticket, result)``, ``("end", ticket)``
when a stream has no more, ``("raised", ticket or None, exception, traceback)``, ``("stack", text)``.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import polyad
from polyad.base.dtypes import DType
from polyad.interop.generators import seed_numpy
from polyad.utils.data.collate import default_collate
from polyad.utils.data.fetching import Reader, StreamEnd, StreamReader, reader_of
from polyad.utils.data.seeding import mixed

from .failures import SharedMemoryFull, WorkerFailure
from .info import WorkerInfo, set_worker_info
from .transport import dumped, pack, receive

__all__ = ["Job", "prepare", "run"]

GRACE = 0.2
"""Seconds that a worker has to finish what it does when its loader is gone."""


@dataclass(slots=True)
class Job:
    """What the workers of a loader have to know."""

    dataset: Any
    collate: Callable[[Any], Any]
    batching: bool
    batch_size: int | None
    drop_last: bool
    init: Callable[[int], None] | None
    num_workers: int
    default_dtype: DType = field(default_factory=polyad.get_default_dtype)


def run(connection: Connection, worker: int, job: Job | None) -> None:
    """Work until the connection ends. *job* comes by the connection unless the process was forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the loop, which ends its workers
    if job is not None:
        _forget_the_loop()
    polyad.set_num_threads(1)
    finished = threading.Event()
    talk = _Talk(connection, finished)
    threading.Thread(target=talk.listen, name="polyad loader", daemon=True).start()
    try:
        _work(talk, worker, job)
    finally:
        finished.set()


def _forget_the_loop() -> None:
    """Let go of what a forked process has of the one that it is a copy of."""
    gc.freeze()  # what its garbage holds is not this process's to end; and pages stay shared that nobody looks through
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    tracing = faulthandler.is_enabled()
    faulthandler.disable()
    for number in signal.valid_signals():
        if signal.getsignal(number) is None:  # a library's: LLVM, in PoCL, takes most, and survives a SIGSEGV
            signal.signal(number, signal.SIG_DFL)
    if tracing:
        with suppress(Exception):  # there may be no place to write to
            faulthandler.enable(sys.__stderr__ or 2)


def prepare() -> None:
    """Load what workers and their loop need in any case: in the process that workers are forked from, and in the loop's
    while they start. Ctrl-C can be lost in an import (Python ignores what is raised in callbacks of its import locks),
    so none should be left for the loop.
    """
    default_collate([0])
    pickle.loads(pickle.dumps(default_collate([polyad.zeros(1)]), protocol=5))


class _Talk:
    def __init__(self, connection: Connection, finished: threading.Event) -> None:
        self._connection = connection
        self._finished = finished
        self._writing = threading.Lock()
        self._main = threading.get_ident()
        self.messages: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()

    def listen(self) -> None:
        while True:
            try:
                message = receive(self._connection, private=True)
            except (EOFError, OSError):
                break
            if message is None:
                frame = sys._current_frames().get(self._main)
                self.send(("stack", "".join(traceback.format_stack(frame)) if frame else ""))
            else:
                self.messages.put(message)
        self.messages.put(None)
        if not self._finished.wait(GRACE):
            os._exit(0)

    def send(self, message: Any) -> None:
        with pack(message) as packed, self._writing:
            try:
                packed.send(self._connection)
            except OSError:
                os._exit(0)  # nobody is there to read it


def _work(talk: _Talk, worker: int, job: Job | None) -> None:
    seed, reader = 0, None
    while (unpickle := talk.messages.get()) is not None:
        ticket: int | None = None
        try:
            message = unpickle()
            if message[0] == "work":
                job = message[1]
                polyad.set_default_dtype(job.default_dtype)
            elif message[0] == "epoch":
                assert job is not None
                is_first, seed = reader is None, message[1]
                reader = reader_of(job.dataset, job.collate, job.batching, job.batch_size, job.drop_last, worker)
                own_seed = mixed(seed, "worker", worker)
                set_worker_info(WorkerInfo(worker, job.num_workers, own_seed, job.dataset))
                _seed_process(own_seed)
                if is_first and job.init is not None:
                    job.init(worker)
            else:
                _, ticket, number, indices = message
                assert reader is not None
                talk.send(_answer(reader, seed, ticket, number, indices))
        except Exception as error:
            talk.send(("raised", ticket, *_portable(error)))


def _answer(reader: Reader | StreamReader, seed: int, ticket: int, number: int, indices: Any) -> Any:
    try:
        with reader.apart():
            return "batch", ticket, reader.read(seed, number, indices)
    except StreamEnd:
        return "end", ticket


def _seed_process(seed: int) -> None:
    """Generators as ``worker_init_fn`` finds them; for samples they start anew."""
    import random

    polyad.manual_seed(seed)
    random.seed(seed)
    seed_numpy(seed)


def _portable(error: Exception) -> tuple[Exception, str]:
    """The exception as it can be sent, and its traceback."""
    text = "".join(traceback.format_exception(error))
    error.__traceback__ = None
    if isinstance(error, SharedMemoryFull):
        return error, text
    try:
        text_of_it, buffers = dumped(error)
        again = pickle.loads(text_of_it.getbuffer(), buffers=buffers)
        if type(again) is type(error) and str(again) == str(error):
            error.__cause__ = error.__context__ = None
            return error, text
    except Exception:
        pass
    notes = getattr(error, "__notes__", [])
    told = WorkerFailure(
        f"DataLoader: {type(error).__module__}.{type(error).__qualname__} in a worker: {error}",
        fix="its traceback is above; the exception itself cannot be pickled",
    )
    for note in notes:
        told.add_note(note)
    return told, text
