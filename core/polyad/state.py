"""What each thread has switched on: gradient recording, modes, the current default device.

One thread-local object, so that the op path asks one place. Class attributes are the values that a new thread starts with.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .device import Device
    from .dispatch.modes import Mode


class ThreadState(threading.local):
    """The thread's switches; read on every op, so keep it flat."""

    grad_enabled: bool = True
    modes: tuple[Mode, ...] = ()
    default_device: Device | None = None


state = ThreadState()

_PACKAGE = __name__.partition(".")[0] + "."


def user_line() -> str:
    """``model.py:12``: the innermost frame that is outside polyad; the empty string if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not (name + ".").startswith(_PACKAGE):
            return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""
