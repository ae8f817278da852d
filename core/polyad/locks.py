"""Locks that a forked process finds open.

A fork copies memory as it is, and of all threads only the one that forks. A lock that another thread holds at that
moment would stay closed in the child for ever. So polyad and its backends make their locks here, and a child opens all
that its own thread does not hold.

Invariant: what a lock guards is whole enough at every moment that a thread which never comes back does no harm: the
last write may be missing, but nothing is half a thing that others trip over. Where that takes more, a hook of
`os.register_at_fork` puts it right, as `polyad.backend.registry` does.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

__all__ = ["Lock", "RLock"]

_made: weakref.WeakSet[Any] = weakref.WeakSet()


def Lock() -> threading.Lock:
    """A `threading.Lock` that is open in a forked child."""
    made = threading.Lock()
    _made.add(made)
    return made


def RLock() -> Any:
    """A `threading.RLock` that a forked child finds open, unless the thread that forked holds it."""
    made = threading.RLock()
    _made.add(made)
    return made


def _open_all() -> None:
    for made in list(_made):
        if not (hasattr(made, "_is_owned") and made._is_owned()):
            made._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
