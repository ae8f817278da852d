"""Compilers that run beside this process: on what is needed now, and on idle cores what will be needed soon.

There is no thread for it. What is foreseen is begun when this process comes by to compile something, as much at once as
there are cores for, and whoever needs it waits for it. When this process ends, what has ended is kept, and what has not
is ended. A forked process begins anew.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..base.locks import Lock

__all__ = ["Compilation", "Foreseen", "said_by"]


class Compilation:
    """A compiler at work on *source*; ``call(path of the source, path of the result)`` is its command."""

    def __init__(self, source: str, call: Callable[[Path, Path], Sequence[str]]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="polyad-"))
        self._result = self.folder / "kernel.so"
        try:
            path = self.folder / "kernel.c"
            path.write_text(source, encoding="utf-8")
            self.process = _started(call(path, self._result))
        except BaseException:
            self._clear()
            raise

    def end(self, patience: float) -> tuple[int, bytes | None, str]:
        """Its exit status, its result if there is one, and its complaints.

        Raises TimeoutExpired if it has not ended in *patience* seconds, after which it has.
        """
        try:
            _, said = _ended(self.process, patience)
            result = self._result.read_bytes() if self._result.exists() else None
            return self.process.returncode, result, said
        finally:
            self._clear()

    def stop(self) -> None:
        """End it."""
        with self.process:
            _kill(self.process)
        self._clear()

    def _clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


Begin = Callable[[], Compilation]
Keep = Callable[[Compilation], object]


class Foreseen:
    """What will be needed soon, by name: as much as *at_once* is compiled beside what this process does."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._lock = Lock()
        self._waiting: dict[str, tuple[Begin, Keep]] = {}
        self._running: dict[str, tuple[Compilation, Keep]] = {}
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave)

    def add(self, wanted: Mapping[str, tuple[Begin, Keep]]) -> None:
        """Compile these before what was added earlier, when there is a core for it; what has ended when this process
        does, and nobody took, is kept, by the second function of each.
        """
        with self._lock:
            if self.at_once:
                new = {name: each for name, each in wanted.items() if name not in self._running}
                self._waiting = new | {name: each for name, each in self._waiting.items() if name not in new}
                self._go_on()

    def take(self, name: str) -> Compilation | None:
        """What was begun under *name*, from now on the caller's to wait for; None if nothing was."""
        with self._lock:
            self._waiting.pop(name, None)
            found, _ = self._running.pop(name, (None, None))
            self._go_on()  # while the caller waits
        return found

    def stop(self) -> None:
        """Keep what has ended, and end what has not."""
        with self._lock:
            running, self._waiting, self._running = self._running, {}, {}
        for compilation, keep in running.values():
            if compilation.process.poll() is None:
                compilation.stop()
            else:
                with suppress(Exception):  # it was not needed
                    keep(compilation)

    def _go_on(self) -> None:
        free = self.at_once - sum(each.process.poll() is None for each, _ in self._running.values())
        while self._waiting and free > 0:
            name = next(iter(self._waiting))
            begin, keep = self._waiting.pop(name)
            try:
                self._running[name] = begin(), keep
            except OSError:  # which is told to whoever needs it
                self._waiting.clear()
            free -= 1

    def _leave(self) -> None:
        for compilation, _ in self._running.values():
            compilation.process.returncode = 0  # nobody waits here for the parent's processes
        self._waiting, self._running = {}, {}  # the lock is open: see `polyad.base.locks`


def said_by(called: Sequence[str], patience: float) -> str:
    """What a program prints that is given nothing to read. Raises OSError and TimeoutExpired."""
    return _ended(_started(called), patience)[0]


def _started(called: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        called, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        errors="replace", start_new_session=True,
    )  # fmt: skip


def _ended(process: subprocess.Popen[str], patience: float) -> tuple[str, str]:
    with process:
        try:
            return process.communicate(timeout=patience)
        except BaseException:
            _kill(process)
            raise


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process with whatever it started."""
    with suppress(OSError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
