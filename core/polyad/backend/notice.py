"""What a user is told who waits for compilers: once a process on stderr, and on a terminal how far it is.

Nobody is told before `PATIENCE` seconds went by in compilers, and nobody where POLYAD_COMPILE_NOTICE is 0.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["compiling"]

SWITCH = "POLYAD_COMPILE_NOTICE"
PATIENCE = 1.0
"""Seconds that may be waited for compilers without a word."""


class _Waited:
    """What this process has waited for so far."""

    seconds = 0.0
    kernels = 0
    told = False


@contextmanager
def compiling(what: str, device: str, folder: object) -> Iterator[None]:
    """Around a compilation that this process waits for: *what* is compiled for *device*, and kept in *folder*, if
    that is not None.
    """
    _Waited.kernels += 1
    shown = _print_notice(what, device, folder) if _Waited.seconds >= PATIENCE else 0
    began = time.perf_counter()
    try:
        yield
    finally:
        _Waited.seconds += time.perf_counter() - began
        if shown:
            _write(f"\r{' ' * shown}\r")


def _print_notice(what: str, device: str, folder: object) -> int:
    """Say it. Gives the length of what is to be wiped away afterwards."""
    if sys.stderr is None or os.environ.get(SWITCH) == "0":
        return 0
    if not _Waited.told:
        _Waited.told = True
        kept = "every run will" if folder is None else f"they are kept in {folder}, and the next run does not wait"
        _write(f"polyad: compiling kernels for {device} at their first use; {kept} ({SWITCH}=0 hides this)\n")
    try:
        if not sys.stderr.isatty():
            return 0
    except ValueError:  # closed
        return 0
    line = f"polyad: {_Waited.kernels} kernels, {_Waited.seconds:.0f} s: {what}"[:79]
    _write(line)
    return len(line)


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # closed
        sys.stderr.write(text)
        sys.stderr.flush()
