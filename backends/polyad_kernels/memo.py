"""What is made once and serves all threads: kernels, programs' texts, tables in device memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import TypeVar

Made = TypeVar("Made")


def memoize(make: Callable[..., Made]) -> Callable[..., Made]:
    """*make*, whose results are cached for ever: of threads that make the same at once, all get what the first cached.

    `functools.cache` gives each of them what it made itself. Device memory so made dies with its only user, and the
    pool gives it to another thread while a kernel that is to read it is not enqueued yet. Nothing is locked: a process
    may be forked, or a thread wait for the driver, in the middle of *make*.
    """
    first: dict[tuple[Hashable, ...], Made] = {}

    @cache
    def cached(*key: Hashable) -> Made:
        return first.setdefault(key, make(*key))

    cached.__name__, cached.__doc__ = make.__name__, make.__doc__
    return cached
