"""What a process says of an error to its launcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["record"]

Main = TypeVar("Main", bound=Callable[..., Any])


def record(fn: Main, error_handler: Any = None) -> Main:
    """*fn* itself: a process prints its own traceback, and the launcher says which one ended first.

    >>> from polyad.distributed.elastic.multiprocessing.errors import record
    >>> record(len)([1, 2])
    2
    """
    return fn
