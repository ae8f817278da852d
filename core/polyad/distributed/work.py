"""Work: an operation between processes that may not have ended yet; how polyad waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..futures import Future

if TYPE_CHECKING:
    from .engine import Operation
    from .groups import ProcessGroup

__all__ = ["Work"]

_EAGER_TESTS = 50
"""How often an operation is asked before the processor is offered to others."""

_YIELDING = 0.002
"""For how many seconds the processor is only offered, before the process sleeps between two questions."""

_SLEEPS = ((0.1, 5e-5), (1.0, 2e-4), (float("inf"), 1e-3))
"""Until how many seconds it sleeps how long."""

_LOOKS = 0.25
"""Seconds between two looks at who is lost."""


class Work:
    """An operation that was started. Its results are there after `wait`.

    Args:
        group: the group that carries it out.
        operations: what the engine does; several for coalesced calls.
        finish: puts results where the caller wants them; called once, when all operations have ended.
        keep: what has to live as long.
    """

    def __init__(
        self,
        group: ProcessGroup,
        operations: list[Operation],
        finish: Callable[[], None] | None = None,
        keep: Any = None,
        result: Any = None,
    ) -> None:
        self._group, self._operations, self._finish, self._keep = group, operations, finish, keep
        self._result = result
        self._error: BaseException | None = None
        self._doing = group.doing

    def is_completed(self) -> bool:
        """Whether the operation has ended."""
        if self._operations and False not in [operation.test() for operation in self._operations]:
            self._end()
        return not self._operations

    def is_success(self) -> bool:
        """Whether it has ended without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the operation has ended, at most *timeout* or the group's; True.

        Raises:
            DistBackendError: it has not in time, or a process is lost; the message says which, and what each does.
        """
        if self._error is not None:
            raise self._error
        for operation in self._operations:
            test = operation.test
            for _ in range(_EAGER_TESTS):
                if test():
                    break
            else:
                self._wait_for(test, self._group.seconds if timeout is None else timeout.total_seconds())
        self._end()
        return True

    synchronize = wait

    def _wait_for(self, test: Callable[[], bool], most: float) -> None:
        begin = time.monotonic()
        look = begin + _LOOKS
        while not test():
            now = time.monotonic()
            if now >= look:
                look = now + _LOOKS
                self._look(now - begin, most)
            elapsed = now - begin
            time.sleep(0 if elapsed < _YIELDING else next(pause for until, pause in _SLEEPS if elapsed < until))

    def _look(self, elapsed: float, most: float) -> None:
        lost = self._group.lost()
        if lost or elapsed > most:
            self._error = self._group.failure(self._doing, lost, elapsed)
            raise self._error

    def _end(self) -> None:
        if not self._operations:
            return
        self._source = self._operations[0].source if len(self._operations) == 1 else -1
        self._operations = []
        finish, self._finish, self._keep = self._finish, None, None
        if finish is not None:
            finish()

    def source_rank(self) -> int:
        """The rank in the world of the process that a message came from."""
        self.wait()
        return self._group.global_rank(self._source)

    def result(self) -> Any:
        """The tensors that the operation wrote."""
        self.wait()
        return self._result

    def get_future(self) -> Future[Any]:
        """The results as a future, which communication hooks return."""
        return WorkFuture(self)


class WorkFuture(Future[Any]):
    """The results of a `Work`."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def done(self) -> bool:
        """Whether the operation has ended."""
        if not super().done() and self._work.is_completed():
            self._bring()
        return super().done()

    def _bring(self) -> None:
        if not super().done():
            try:
                self.set_result(self._work.result())
            except Exception as error:
                self.set_exception(error)
