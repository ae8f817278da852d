"""Warnings where the host waits for a device, such as those of `polyad.cuda.set_sync_debug_mode`.

A backend calls `warn_of_waiting` wherever an op, or a read of values, is about to wait for what a device computes. It
does not where the program asks to wait by name (``synchronize``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.state import warn_user
from ..errors import DeviceError

MODES = ("default", "warn", "error")
"""By number."""


class _Process:
    mode = 0


class _OfThread(threading.local):
    silent = False


_process, _of_thread = _Process(), _OfThread()


def mode() -> int:
    """Which of `MODES` holds, in all threads."""
    return _process.mode


def set_mode(mode: int) -> None:
    """Choose what `warn_of_waiting` does, by number."""
    _process.mode = mode


@contextmanager
def unwarned() -> Iterator[None]:
    """Let this thread wait without a word: for work that is done once, such as trying a library."""
    before, _of_thread.silent = _of_thread.silent, True
    try:
        yield
    finally:
        _of_thread.silent = before


def warn_of_waiting(what: str, device: object) -> None:
    """To be called before waiting for *device*; *what* says what for. Raises RuntimeError, or warns, as was chosen."""
    if not _process.mode or _of_thread.silent:
        return
    kind = str(device).partition(":")[0]
    message = f"{what}: called a synchronizing {kind.upper()} operation: the host would wait for {device}"
    fix = "keep the values on the device, or read them more rarely; set_sync_debug_mode(0), where it was set, ends this"
    if MODES[_process.mode] == "error":
        raise DeviceError(message, fix=fix)
    warn_user(f"{message}\n    fix: {fix}", UserWarning)
