"""The workers of a loader, as the loop's process sees them.

A `Pool` starts them, sends them work, waits for what they answer, and ends them. It waits for connections, never for a
clock: a worker that dies ends its connection.
"""

from __future__ import annotations

import itertools
import os
import time
import weakref
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from polyad import errors
from polyad.base.locks import Lock

from .failures import UnsendableError, WorkerFailure, WorkerTraceback, death
from .process import Job, prepare, run
from .starting import Start
from .transport import pack, receive

__all__ = ["Pool"]

PATIENCE = 0.5
"""Seconds in which workers may end by themselves."""

_ours: weakref.WeakSet[Any] = weakref.WeakSet()
"""This process's ends of all connections to workers."""
_starting = Lock()
"""Held while a worker is started: one that another thread forked meanwhile would keep its end of the connection too."""


def _close_inherited() -> None:
    # A forked process that kept them would keep other processes' workers alive.
    for end in list(_ours):
        if not end.closed:
            end.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


class _Worker:
    """A process, and the connection to it."""

    def __init__(self, number: int, process: Any, end: Any) -> None:
        self.number = number
        self.process = process
        self.end = end
        self.pid = process.pid
        self.busy_with: dict[int, tuple[int, Any]] = {}
        """By ticket: the number of a batch, and its indices."""


class Pool:
    """Workers that do *job*.

    Raises:
        TypeError (UnsendableError): the job cannot be sent to another process.
    """

    def __init__(self, job: Job, start: Start) -> None:
        self.epochs = 0
        self._tickets = itertools.count()
        self._closer: Callable[[], Any] = lambda: None
        self._start = start
        packed = None if start.forked else _packed(job, start)
        if start.forked:
            prepare()  # before they are forked
        self.workers: list[_Worker] = []
        self._closer = weakref.finalize(self, _close, self.workers, os.getpid())
        try:
            for number in range(job.num_workers):
                self.workers.append(_started(number, job, start))
            if packed is not None:
                for worker in self.workers:
                    self._send(worker, packed)
                prepare()  # while they start
        except BaseException:
            self.close()
            raise
        finally:
            if packed is not None:
                packed.close()

    @property
    def closed(self) -> bool:
        """Whether the workers were ended."""
        return not self.workers

    def begin(self, seed: int) -> None:
        """Tell all workers that an epoch begins; what they still have to answer of an earlier one counts no more."""
        self.epochs += 1
        with pack(("epoch", seed)) as packed:
            for worker in self.workers:
                worker.busy_with.clear()
                self._send(worker, packed)

    def ask(self, number: int, batch: int, indices: Any) -> int:
        """Have worker *number* read a batch; gives the ticket by which its answer is known."""
        worker, ticket = self.workers[number], next(self._tickets)
        worker.busy_with[ticket] = batch, indices
        with pack(("batch", ticket, batch, indices), not self._start.imports_main) as packed:
            self._send(worker, packed)
        return ticket

    def wait(self, until: float | None, timeout: float) -> list[Any]:
        """What workers answered, at least one answer.

        Raises:
            RuntimeError (WorkerFailure): a worker died, or the clock shows *until*, *timeout* seconds having passed;
                all workers are ended.
            What a worker's preparations raised.
        """
        ends = {worker.end: worker for worker in self.workers}
        ready = connection.wait(list(ends), None if until is None else max(0, until - time.monotonic()))
        if not ready:
            raise self._late(timeout)
        answers = []
        for end in ready:
            worker = ends[end]
            try:
                message = receive(worker.end)
            except (EOFError, OSError):
                raise self._dead(worker) from None
            answer: Any = message() if message is not None else ("stack", None)
            if answer[0] == "raised":
                answer = ("raised", answer[1], raised(answer, worker))
                if answer[1] is None:
                    self.close()
                    raise answer[2]
            worker.busy_with.pop(answer[1], None)
            answers.append(answer)
        return answers

    def close(self) -> None:
        """End the workers, those that do not end by themselves after half a second by force."""
        self._closer()

    def _send(self, worker: _Worker, packed: Any) -> None:
        try:
            packed.send(worker.end)
        except OSError:
            raise self._dead(worker) from None

    def _dead(self, worker: _Worker) -> Exception:
        raised = _last_words(worker)
        worker.process.join(PATIENCE)
        what, fix = death(worker.process.exitcode, self._start.imports_main)
        error = WorkerFailure(
            f"DataLoader: worker {worker.number} (process {worker.pid}) {what}{_during(worker)}", fix=fix
        )
        self.close()
        return raised or error

    def _late(self, timeout: float) -> WorkerFailure:
        text = []
        waiting = [worker for worker in self.workers if worker.busy_with]
        for worker in waiting:
            try:
                worker.end.send_bytes(b"")
            except OSError:
                continue
        until = time.monotonic() + 1
        stacks: dict[int, str] = {}
        ends = {worker.end: worker for worker in waiting}
        while ends and (ready := connection.wait(list(ends), max(0, until - time.monotonic()))):
            for end in ready:
                worker = ends[end]
                try:
                    message = receive(worker.end)
                    answer = message() if message is not None else None
                except (EOFError, OSError):
                    answer = ("stack", "it died meanwhile\n")
                if answer is not None and answer[0] == "stack":
                    stacks[worker.number] = answer[1]
                    del ends[end]
        for worker in waiting:
            stack = stacks.get(
                worker.number, "it does not even say where it is: it is in compiled code, or was stopped\n"
            )
            text.append(f"worker {worker.number} (process {worker.pid}){_during(worker)}:\n{stack}")
        error = WorkerFailure(
            f"DataLoader: timed out: the next batch was not there after {timeout:g} seconds",
            fix="see below where they are; give a larger timeout if reading a batch may take that long",
        )
        error.add_note("\n".join(text))
        self.close()
        return error


def _started(number: int, job: Job, start: Start) -> _Worker:
    with _starting:
        ours, theirs = start.pipe()
        _ours.add(ours)
        arguments = (theirs, number, job if start.forked else None)
        process = start.process(target=run, args=arguments, name=f"polyad loader {number}")
        process.start()
        theirs.close()
        return _Worker(number, process, ours)


def raised(message: tuple[Any, ...], worker: _Worker) -> Exception:
    """The exception that a worker sent, with the worker's traceback as its cause."""
    _, _, error, text = message
    error.add_note(f"DataLoader: in worker {worker.number} (process {worker.pid})")
    error.__cause__ = WorkerTraceback(text)
    return error  # type: ignore[no-any-return]


def _during(worker: _Worker) -> str:
    from .failures import named_indices

    if not worker.busy_with:
        return " before it was given anything to read"
    batch, indices = next(iter(worker.busy_with.values()))
    return f" while it read batch {batch}" + ("" if indices is None else f", {named_indices(indices)}")


def _last_words(worker: _Worker) -> Exception | None:
    """The exception that a worker sent before it ended, None if there is none."""
    try:
        while worker.end.poll():
            message = receive(worker.end)
            answer = message() if message is not None else ("stack", "")
            if answer[0] == "raised" and answer[1] is None:
                return raised(answer, worker)
    except (EOFError, OSError, ValueError):
        pass
    return None


def _close(workers: list[_Worker], owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked copy of the pool
    for worker in workers:
        worker.end.close()
    until = time.monotonic() + PATIENCE
    for worker in workers:
        worker.process.join(max(0, until - time.monotonic()))
    for worker in workers:
        if worker.process.exitcode is None:
            worker.process.kill()
    for worker in workers:
        worker.process.join()
        worker.process.close()
    workers.clear()


def _packed(job: Job, start: Start) -> Any:
    """The job as a message; by value where workers do not have the main module's names."""
    try:
        return pack(("work", job), by_value=not start.imports_main)
    except errors.OutOfMemory:
        raise
    except Exception as error:
        where, culprit = _unsendable(job)
        raise UnsendableError(
            f"DataLoader: {where} cannot be sent to a worker process: {error}",
            operands={where: culprit},
            fix="open files and connections when they are first needed (or in worker_init_fn), or pass "
            'multiprocessing_context="fork" where the system has it',
        ) from error


def _unsendable(job: Job) -> tuple[str, Any]:
    """The smallest part of *job* that cannot be pickled, and its name."""
    names = {"dataset": job.dataset, "collate_fn": job.collate, "worker_init_fn": job.init}
    name, value = next(((name, value) for name, value in names.items() if not _is_sendable(value)), ("dataset", None))
    for _ in range(20):
        parts: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            parts = [(f"{name}[{errors.safe_repr(key)}]", part) for key, part in value.items()]
        elif isinstance(value, list | tuple):
            parts = [(f"{name}[{position}]", part) for position, part in enumerate(value)]
        else:
            parts = [(f"{name}.{key}", part) for key, part in getattr(value, "__dict__", {}).items()]
        found = next(((key, part) for key, part in parts if not _is_sendable(part)), None)
        if found is None:
            return name, value
        name, value = found
    return name, value


def _is_sendable(value: Any) -> bool:
    try:
        pack(value, by_value=True).close()
    except Exception:
        return False
    return True
