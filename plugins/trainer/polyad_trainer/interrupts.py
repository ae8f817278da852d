"""Ctrl-C that does not cut a step in two: the run is told, and stops where it can be resumed."""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """While it is entered, the first Ctrl-C sets `asked`; the second raises KeyboardInterrupt at once.

    In a thread that is not the main one signals are left alone: Python hands them to the main thread.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None
        self._on = False

    def __enter__(self) -> Interrupts:
        self.asked = False
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is not signal.SIG_IGN and before is not None:
                self._before, self._on = before, True
                signal.signal(signal.SIGINT, self._told)
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._on:
            self._on = False
            signal.signal(signal.SIGINT, self._before)

    def _told(self, number: int, frame: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
