"""Values that another thread brings, at PyTorch's path ``polyad.futures``."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from .base.locks import Lock
from .base.state import warn_user
from .errors import ArgumentError, PolyadError

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class FutureStateError(PolyadError, RuntimeError):
    """A value asked for before it is there, or set twice."""


class Future(Generic[T]):
    """A value that is there later, set by `set_result` or `set_exception`; any thread may wait for it.

    *devices* has no effect: the value is what it is when it is set, and work on a device is waited for where its
    results are read.

    >>> import polyad as torch
    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._inner: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._before: Sequence[Future[Any]] = ()

    def done(self) -> bool:
        """Whether there is a value, or an exception."""
        return self._inner.done()

    def wait(self) -> T:
        """The value, when it is there; raises the exception that was set."""
        self._bring()
        return self._inner.result()

    def _bring(self) -> None:
        """Let what this one follows from be waited for: operations between processes go on while they are asked."""
        for future in self._before:
            future._bring()

    def value(self) -> T:
        """The value, which must be there: RuntimeError if not. Raises the exception that was set."""
        if not self.done():
            raise FutureStateError("Future.value: there is no value yet", fix="call wait(), or ask done()")
        return self._inner.result()

    def set_result(self, result: T) -> None:
        """Give it its value; RuntimeError if it has one. Functions given to `then` run in this call."""
        self._set(self._inner.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Give it an exception, which `wait` and `value` raise. Raises as `set_result` does."""
        if not isinstance(result, BaseException):
            raise ArgumentError(
                f"Future.set_exception: result is {type(result).__name__}, no exception", fix="use set_result"
            )
        self._set(self._inner.set_exception, result)

    def _set(self, give: Callable[[Any], None], result: Any) -> None:
        try:
            give(result)
        except concurrent.futures.InvalidStateError as error:
            raise FutureStateError("Future: it has a value, or an exception", fix="set a future once") from error

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of what *callback* gives for this one: it runs when this one is done, at once if it is. What it
        raises becomes the exception of the new future.
        """
        after: Future[S] = Future()
        after._before = (self,)

        def run(_: Any) -> None:
            try:
                after.set_result(callback(self))
            except BaseException as error:
                after.set_exception(error)

        self._inner.add_done_callback(run)
        return after

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call *callback* with this future when it is done, at once if it is. What it raises becomes a warning."""

        def run(_: Any) -> None:
            try:
                callback(self)
            except Exception as error:
                warn_user(f"Future: a callback raised {type(error).__name__}: {error}", RuntimeWarning)

        self._inner.add_done_callback(run)


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list *futures*, done when all of them are; with the first exception, if one has one.

    >>> import polyad as torch
    >>> futures = [torch.futures.Future() for _ in range(2)]
    >>> both = torch.futures.collect_all(futures)
    >>> for number, future in enumerate(futures):
    ...     future.set_result(number)
    >>> [future.value() for future in both.wait()]
    [0, 1]
    """
    every: Future[list[Future[Any]]] = Future()
    given = every._before = list(futures)
    open_ones, lock = len(given), Lock()
    if not given:
        every.set_result(given)

    def one_less(_: Future[Any]) -> None:
        nonlocal open_ones
        with lock:
            open_ones -= 1
            last = not open_ones
        if last:
            errors = (future._inner.exception() for future in given)
            error = next((error for error in errors if error is not None), None)
            every.set_result(given) if error is None else every.set_exception(error)

    for future in given:
        future.add_done_callback(one_less)
    return every


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of *futures*, when all are there; raises the first exception.

    >>> import polyad as torch
    >>> future = torch.futures.Future()
    >>> future.set_result("done")
    >>> torch.futures.wait_all([future])
    ['done']
    """
    return [future.value() for future in collect_all(futures).wait()]
