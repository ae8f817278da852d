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

_GRACE = 1.0
"""Seconds for which an operation may still end after a process of its group is lost."""

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
        self._noticed: float | None = None
        """When a process was seen to be lost."""

    def is_completed(self) -> bool:
        """Whether the operation has ended, or cannot end: see `exception`."""
        if self._error is None and self._operations:
            if False not in [operation.test() for operation in self._operations]:
                self._end()
            elif self._is_lost():
                self._fail(self._group.lost(), 0.0)
        return not self._operations or self._error is not None

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
        try:
            for operation in self._operations:
                test = operation.test
                for _ in range(_EAGER_TESTS):
                    if test():
                        break
                else:
                    self._wait_for(test, self._group.seconds if timeout is None else timeout.total_seconds())
        except BaseException:
            self._group.unfinished.add(self)  # the engine may write into its memory for ever
            raise
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
        if self._is_lost() or elapsed > most:
            self._fail(self._group.lost(), elapsed)
            assert self._error is not None
            raise self._error

    def _is_lost(self) -> bool:
        """Whether a process is lost, and was already a moment ago: what it had sent before may still arrive."""
        if not self._group.lost():
            return False
        self._noticed = time.monotonic() if self._noticed is None else self._noticed
        return time.monotonic() - self._noticed > _GRACE

    def _fail(self, lost: dict[int, str], elapsed: float) -> None:
        self._error = self._group.failure(self._doing, lost, elapsed)
        self._group.unfinished.add(self)

    def _end(self) -> None:
        if not self._operations:
            return
        self._group.end(self, self._doing)
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
