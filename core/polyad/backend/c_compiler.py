"""The machine's C compiler, for devices whose kernels run on the host, and what it compiled before.

``CC`` names the compiler; else it is cc, gcc or clang, whichever is on the path, else that of the package ``ziglang``.
What is compiled is kept on disk by source, flags, compiler and processor, see `polyad.files.compiled`.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ..errors import CompilerFailure
from ..files.compiled import CompiledFolder

__all__ = ["NONE", "Libraries", "command", "on_disk"]

NONE = "there is no C compiler: neither $CC, nor cc, gcc or clang on PATH, nor the package ziglang"
"""What to say where `command` gives None."""

_PATIENCE = 120
"""Seconds after which a compiler is taken for hung."""


@cache
def command() -> tuple[str, ...] | None:
    """The compiler as a command and its first arguments; None if this machine has none."""
    named = os.environ.get("CC")
    if named:
        return tuple(shlex.split(named))
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found:
        return (found,)
    return (sys.executable, "-m", "ziglang", "cc") if find_spec("ziglang") else None


class Libraries:
    """Shared libraries that the compiler makes of C, kept in *folder*; *without* says how to do without them."""

    def __init__(self, folder: CompiledFolder, flags: tuple[str, ...], without: str = "") -> None:
        self.folder = folder
        self.flags = ("-shared", "-fPIC", "-w", *flags)
        self.without = without

    def compiled(self, source: str, what: str, extra: tuple[str, ...] = ()) -> bytes:
        """The library of *source*, compiled now or before, with *extra* flags.

        Raises CompilerFailure, where *what* names the source.
        """
        flags = (*self.flags, *extra)
        try:
            name = hashlib.sha256("\0".join((source, *flags, _identity())).encode()).hexdigest()
            library = self.folder.read(name)
            if library is None:
                library = self._built(source, flags, what)
                with suppress(OSError):  # it is compiled again
                    self.folder.write(name, library)
        except (OSError, subprocess.SubprocessError) as error:
            raise CompilerFailure(
                f"{what}: the C compiler does not run: {error}", fix=self._fix("mend it, set CC to another")
            ) from error
        return library

    def _built(self, source: str, flags: tuple[str, ...], what: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
            path, out = Path(folder, "kernel.c"), Path(folder, "kernel.so")
            path.write_text(source, encoding="utf-8")
            called = [*(command() or ()), *flags]
            done = subprocess.run(
                [*called, "-o", str(out), str(path), "-lm", "-lpthread"],
                capture_output=True, text=True, check=False, timeout=_PATIENCE,
            )  # fmt: skip
            if done.returncode or not out.exists():
                raise CompilerFailure(
                    f"{what}: the C compiler does not compile the kernel",
                    notes={
                        "command": shlex.join(called),
                        "exit status": str(done.returncode),
                        "log": done.stderr[-2000:],
                    },
                    fix="set CC to another C compiler (gcc, clang); if it is one of these, report source, log, version",
                )
            return out.read_bytes()

    def loaded(self, library: bytes, what: str) -> ctypes.CDLL:
        """*library* in this process, for good. Raises CompilerFailure if the machine does not load it."""
        with on_disk(library) as path:
            try:
                return ctypes.CDLL(path)
            except OSError as error:
                raise self.unloadable(what, error) from error

    def unloadable(self, what: str, error: Exception) -> CompilerFailure:
        """The error for a library that the machine does not load."""
        return CompilerFailure(
            f"{what}: what the C compiler made cannot be loaded: {error}", fix=self._fix("set CC to another C compiler")
        )

    def _fix(self, first: str) -> str:
        return f"{first}, or {self.without}" if self.without else first


@contextmanager
def on_disk(library: bytes, name: str = "kernel") -> Iterator[str]:
    """The path of a file with *library*, as it was checked, whatever happens to kept files meanwhile."""
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        path = Path(folder, f"{name}.so")
        path.write_bytes(library)
        yield str(path)


@cache
def _identity() -> str:
    """What else than a source and its flags decides what the compiler makes."""
    said = subprocess.run(
        [*(command() or ()), "--version"], capture_output=True, text=True, check=False, timeout=_PATIENCE
    ).stdout
    return "\0".join((said, platform.machine(), _processor(), *platform.libc_ver()))


def _processor() -> str:
    """The processor's model and features: code for one need not run on another."""
    with suppress(OSError):
        found: dict[str, str] = {}
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            found.setdefault(name.strip(), value.strip())
        return f"{found.get('model name')} {found.get('flags', found.get('Features'))}"
    return platform.processor()
