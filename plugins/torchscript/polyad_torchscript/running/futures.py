"""Futures of ``jit.fork``: the call has been made when the future is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

__all__ = ["Future", "fork", "wait"]


class Future(Generic[T]):
    """The result of a call.

    >>> Future(3).wait()
    3
    """

    def __init__(self, value: T | None = None) -> None:
        self._value: Any = value

    def wait(self) -> T:
        """The result."""
        return self._value

    def value(self) -> T:
        """The result."""
        return self._value

    def done(self) -> bool:
        """True: the call has been made."""
        return True


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """The future of ``func(*args, **kwargs)``, which is called now.

    >>> import polyad
    >>> polyad.jit.wait(polyad.jit.fork(max, 1, 2))
    2
    """
    return Future(func(*args, **kwargs))


def wait(future: Future[T]) -> T:
    """The result of a future."""
    return future.wait()
