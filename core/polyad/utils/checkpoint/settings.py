"""Switches for all checkpoints of a thread that begin while they are set."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

__all__ = ["noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "settings"]


class _Settings(threading.local):
    """None leaves it to each checkpoint's own argument."""

    early_stop: bool | None = None
    debug: bool | None = None


settings = _Settings()


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two context managers that do nothing: what `checkpoint` uses for *context_fn* unless it is given."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether checkpoints inside end their second call as soon as backward has what it needs.

    >>> import polyad
    >>> from polyad.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> calls = []
    >>> def work(x):
    ...     y = x.exp()
    ...     calls.append("end")
    ...     return y + 1
    >>> x = polyad.ones(1, requires_grad=True)
    >>> checkpoint(work, x).backward()                # the second call ends at exp
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(work, x)
    >>> y.backward()
    >>> len(calls)
    3
    """
    before, settings.early_stop = settings.early_stop, enable
    try:
        yield
    finally:
        settings.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether checkpoints inside keep listings of their ops for errors; None leaves it to their *debug*.

    >>> from polyad.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass
    """
    before, settings.debug = settings.debug, enabled
    try:
        yield
    finally:
        settings.debug = before
