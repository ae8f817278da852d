"""Locks that a forked process finds open.

A fork copies memory as it is, and of all threads only the one that forks. A lock that another thread holds at that
moment would stay closed in the child for ever. So polyad and its backends make their locks here, and a child opens all
that its own thread does not hold. Nor does a process fork while another thread loads a module that the child may want.

Invariant: what a lock guards is whole enough at every moment that a thread which never comes back does no harm: the
last write may be missing, but nothing is half a thing that others trip over. Where that takes more, a hook of
`os.register_at_fork` puts it right, as `polyad.devices.registry` does.
"""

from __future__ import annotations

import _imp
import importlib
import os
import threading
import time
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


# ------------------------------------------------------------------------------------------------------------- imports

_PACKAGES = frozenset({"cloudpickle", "ml_dtypes", "numpy", "polyad", "scipy"})
_PATIENCE = 10.0
"""Seconds; modules of these packages are loaded in less."""


def _wait_for_imports() -> None:
    """Hold Python's import lock at a moment when no other thread is loading a module of polyad's, or one that polyad
    loads when it is wanted. The child would find it half loaded, and wait for ever for who loads it.
    """
    until = time.monotonic() + _PATIENCE
    _imp.acquire_lock()  # nobody gets the lock of a module meanwhile
    while _others_load() and time.monotonic() < until:
        _imp.release_lock()
        time.sleep(0.001)
        _imp.acquire_lock()


def _others_load() -> bool:
    # Python has no public list of modules that are being loaded.
    locks = getattr(importlib._bootstrap, "_module_locks", {})
    held = [(_package(name), getattr(reference(), "owner", None)) for name, reference in list(locks.items())]
    me = threading.get_ident()
    return any(owner not in (None, me) and package in _PACKAGES for package, owner in held)


def _package(module: str) -> str:
    package = module.partition(".")[0]
    return "polyad" if package.startswith("polyad_") else package


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_parent=_imp.release_lock, after_in_child=_imp.release_lock)
    os.register_at_fork(after_in_child=_open_all)
