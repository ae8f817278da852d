"""The machine's C compiler, for devices whose kernels run on the host, and what it compiled before.

``CC`` names the compiler; else it is cc, gcc or clang, whichever is on the path, else that of the package ``ziglang``.
What is compiled is kept on disk by source, flags, compiler and processor, see `polyad.files.compiled`.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from ..errors import CompilerFailure
from ..files.compiled import CompiledFolder
from .compilations import Compilation, Foreseen, said_by
from .notice import compiling

__all__ = ["NONE", "Libraries", "NoCompiler", "command", "on_disk"]

NONE = "there is no C compiler: neither $CC, nor cc, gcc or clang on PATH, nor the package ziglang"
"""What to say where `command` gives None."""

_PATIENCE = 120
"""Seconds after which a compiler is taken for hung."""

Wanted = tuple[str, str, tuple[str, ...]]
"""A source, what names it in errors, and its flags beside those of all."""

_LATER = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
"""Flags for libraries that call Python, which is there when they are loaded; most linkers ask no more."""


@cache
def command() -> tuple[str, ...] | None:
    """The compiler as a command and its first arguments; None if this machine has none."""
    named = os.environ.get("CC", "").strip()
    if named:
        try:
            return tuple(shlex.split(named))
        except ValueError:  # a quotation without its end: no compiler has that name, which is told
            return (named,)
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found:
        return (found,)
    return (sys.executable, "-m", "ziglang", "cc") if find_spec("ziglang") else None


class NoCompiler(CompilerFailure):
    """A source that would have to be compiled where there is no compiler."""


class Libraries:
    """Shared libraries that the compiler makes of C, kept in *folder*; *without* says how to do without them, and
    *ahead* gives what was compiled of a source and flags before, elsewhere, or None.

    *headers* is a folder of files that sources include. Libraries are kept by their source, wherever that folder is: a
    source has to change when they do.
    """

    def __init__(
        self,
        folder: CompiledFolder,
        flags: tuple[str, ...],
        without: str = "",
        ahead: Callable[[str, Sequence[str]], bytes | None] | None = None,
        headers: Path | None = None,
    ) -> None:
        self.including = () if headers is None else ("-I", str(headers))
        self.folder = folder
        self.ahead = ahead
        self.flags = ("-shared", "-fPIC", "-w", *_LATER, *flags)
        self.without = without
        self.hung: CompilerFailure | None = None

    def compiled(
        self, source: str, what: str, extra: tuple[str, ...] = (), soon: Callable[[], Iterable[Wanted]] = tuple
    ) -> bytes:
        """The library of *source*, compiled now or before, with *extra* flags.

        If it has to be compiled, so is on idle cores what *soon* gives: each a source, its name, and its flags.
        Raises CompilerFailure, where *what* names the source; at once, where the compiler hung before.
        """
        flags = (*self.flags, *extra)
        found = None if self.ahead is None else self.ahead(source, flags)
        if found is not None:
            return found
        if self.hung:
            raise self.hung
        if command() is None:
            raise NoCompiler(f"{what}: {NONE}", fix=self._fix("install one"))
        try:
            name = self._name(source, flags)
            library = self.folder.read(name)
            if library is None:
                self._foresee(soon())
                with compiling(what, self.folder.name, self.folder.path()):
                    begun = _foreseen().take(name)
                    library = self.built(source, flags, what) if begun is None else self._ended(begun, flags, what)
                self.folder.keep(name, library)
        except (OSError, subprocess.SubprocessError) as error:
            hung = isinstance(error, subprocess.TimeoutExpired)
            full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            why = f"it has not ended after {_PATIENCE} seconds" if hung else error
            fix = "set TMPDIR to a folder that has room" if full else "mend it, set CC to another"
            failure = CompilerFailure(f"{what}: the C compiler does not run: {why}", fix=self._fix(fix))
            self.hung = failure if hung else None
            raise failure from error
        return library

    def built(self, source: str, flags: Sequence[str], what: str) -> bytes:
        """The library of *source*, compiled now with *flags* alone. Raises CompilerFailure, and OSError."""
        return self._ended(self._begun(source, flags), flags, what)

    def _begun(self, source: str, flags: Sequence[str]) -> Compilation:
        def call(path: Path, out: Path) -> list[str]:
            # Libraries stand behind the source: some linkers drop those that nothing before them wants.
            return [*(command() or ()), "-o", str(out), str(path), *self.including, *flags, "-lm", "-lpthread"]

        return Compilation(source, call)

    def _name(self, source: str, flags: Sequence[str]) -> str:
        return hashlib.sha256("\0".join((source, *flags, _compiler_identity())).encode()).hexdigest()

    def _foresee(self, soon: Iterable[Wanted]) -> None:
        wanted = {}
        for source, what, extra in soon:
            flags = (*self.flags, *extra)
            name = self._name(source, flags)
            if self.folder.read(name) is None and (self.ahead is None or self.ahead(source, flags) is None):
                begin = partial(self._begun, source, flags)
                wanted[name] = begin, partial(self._keep, name, flags, what)
        _foreseen().add(wanted)

    def _keep(self, name: str, flags: Sequence[str], what: str, ended: Compilation) -> None:
        self.folder.keep(name, self._ended(ended, flags, what))

    def _ended(self, compilation: Compilation, flags: Sequence[str], what: str) -> bytes:
        """The library that *compilation* makes. Raises CompilerFailure."""
        status, library, said = compilation.end(_PATIENCE)
        if status or library is None:
            said = said.strip()[-2000:]
            raise CompilerFailure(
                f"{what}: the C compiler does not compile the kernel",
                notes={
                    "command": shlex.join([*(command() or ()), *self.including, *flags]),
                    "exit status": str(status),
                    **({"log": said} if said else {}),
                },
                fix=self._fix("mend it, set CC to another C compiler (gcc, clang)"),
            )
        return library

    def loaded(self, library: bytes, what: str) -> ctypes.CDLL:
        """*library* in this process, for good. Raises CompilerFailure if the machine does not load it."""
        try:
            with on_disk(library) as path:
                return ctypes.CDLL(path)
        except OSError as error:
            raise self.unloadable(what, error) from error

    def unloadable(self, what: str, error: Exception) -> CompilerFailure:
        """The error for a library that the machine does not load."""
        return CompilerFailure(
            f"{what}: what the C compiler made cannot be loaded: {error}",
            fix=self._fix(
                "set TMPDIR to a folder that has room and whose files may be run as code, or CC to another C compiler"
            ),
        )

    def _fix(self, first: str) -> str:
        return f"{first}, or {self.without}" if self.without else first


@cache
def _foreseen() -> Foreseen:
    """What this process foresees: a core is left for what it does itself."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return Foreseen(cores - 1)


@contextmanager
def on_disk(library: bytes, name: str = "kernel") -> Iterator[str]:
    """The path of a file with *library*, as it was checked, whatever happens to kept files meanwhile."""
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        path = Path(folder, f"{name}.so")
        path.write_bytes(library)
        yield str(path)


@cache
def _compiler_identity() -> str:
    """What else than a source and its flags decides what the compiler makes."""
    said = said_by([*(command() or ()), "--version"], _PATIENCE)
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
