"""Values that come later, at PyTorch's path ``polyad.futures``.

Whoever makes a future gives it its value, from any thread; what depends on the value is added by `Future.then`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from .errors import SettingError

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that comes later.

    Args:
        devices: taken for programs written for PyTorch.

    >>> from polyad.futures import Future
    >>> future = Future()
    >>> twice = future.then(lambda done: done.value() * 2)
    >>> future.set_result(21)
    >>> twice.wait()
    42
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._known = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], None]] = []

    def done(self) -> bool:
        """Whether the value, or an error, is there."""
        return self._known.is_set()

    def _await(self) -> None:
        self._known.wait()

    def wait(self) -> T:
        """The value, once it is there. Raises the error that was set in its place."""
        self._await()
        return self.value()

    def value(self) -> T:
        """The value. Raises RuntimeError if it is not there yet, and the error that was set in its place."""
        if not self._known.is_set() and not self.done():
            raise SettingError("Future.value: the value is not there yet", fix="call wait()")
        self._await()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def set_result(self, result: T) -> None:
        """Give it its value. Raises RuntimeError if it has one."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Let whoever asks for the value get *result* raised."""
        self._set(None, result)

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._known.is_set():
                raise SettingError("Future.set_result: the future has its value", fix="set it once")
            self._value, self._error = value, error
            self._known.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call *callback* with this future when its value is there, at once if it is."""
        with self._lock:
            if not self._known.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future whose value is what *callback* makes of this one when its value is there."""
        return _Next(self, callback)


class _Next(Future[S]):
    """What `Future.then` gives: asking for it asks for the one before."""

    def __init__(self, before: Future[Any], callback: Callable[[Future[Any]], S]) -> None:
        super().__init__()
        self._before, self._callback = before, callback
        before.add_done_callback(self._carry_out)

    def _carry_out(self, before: Future[Any]) -> None:
        try:
            self.set_result(self._callback(before))
        except Exception as error:
            self.set_exception(error)

    def done(self) -> bool:
        """Whether the value, or an error, is there."""
        return super().done() or (self._before.done() and super().done())

    def _await(self) -> None:
        self._before._await()
        super()._await()


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of *futures*, there when all of them are.

    >>> from polyad.futures import Future, collect_all
    >>> one = Future()
    >>> one.set_result(1)
    >>> [future.value() for future in collect_all([one]).wait()]
    [1]
    """
    return _All(list(futures))


class _All(Future[list[Future[Any]]]):
    def __init__(self, futures: list[Future[Any]]) -> None:
        super().__init__()
        self._futures, self._left = futures, len(futures)
        if not futures:
            self.set_result([])
        for future in futures:
            future.add_done_callback(self._count)

    def _count(self, _: Future[Any]) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self.set_result(self._futures)

    def _await(self) -> None:
        for future in self._futures:
            future._await()
        super()._await()


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of *futures*, once all are there. Raises the first error among them."""
    return [future.wait() for future in futures]
