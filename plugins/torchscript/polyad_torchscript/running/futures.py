"""Futures of ``jit.fork``: the call has been made when the future is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from polyad.futures import Future

T = TypeVar("T")

__all__ = ["Future", "fork", "wait"]


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """The future of ``func(*args, **kwargs)``, which is called now.

    >>> import polyad
    >>> polyad.jit.wait(polyad.jit.fork(max, 1, 2))
    2
    """
    future: Future[T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """The result of a future."""
    return future.wait()
