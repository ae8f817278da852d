"""Who allocates what CuPy's own functions need, in this thread."""

from __future__ import annotations

import contextlib
import threading

_local = threading.local()


def current():
    return getattr(_local, "allocator", None)


@contextlib.contextmanager
def using_allocator(allocator):
    before = current()
    _local.allocator = allocator
    try:
        yield
    finally:
        _local.allocator = before
