"""The folders in which devices keep what they compiled: whose they have to be, and how files get in and out.

What lies there is code that runs in this process, without a check of its own: some drivers end the process over a file
that is cut short. So a folder has to be the user's own, and a file carries a checksum over name and contents, which is
compared before anybody uses it. Files appear whole, by renaming, when their bytes are on the disk.

The folder is ``polyad/NAME`` in the user's cache folder, or in what POLYAD_CACHE_DIR names; POLYAD_CACHE_DIR="" keeps
nothing on disk.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..base.state import warn_user

CACHE_VARIABLE = "POLYAD_CACHE_DIR"
LIMIT = 256 * 2**20
"""Bytes that a folder may have: beyond, the files that were not used for longest go."""

_MAGIC = b"polyad kernels 1\n"
_OTHERS_MAY_WRITE = 0o022
_CODE = ", and what lies there is run as code"
_LATE = 3600
_PRUNED_EVERY = 64


class CompiledFolder:
    """What the device type *name* has compiled. Of threads and processes that write the same, the last wins."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._written = 0

    def path(self) -> Path | None:
        """Where it is; None if nothing is to be kept: the user says so, or others could put code there."""
        named = os.environ.get(CACHE_VARIABLE)
        if named == "":
            return None
        try:
            base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyad"
        except RuntimeError as error:  # a user without a home, as in containers
            _warn("a cache folder", str(error), f"set {CACHE_VARIABLE} to a folder of your own")
            return None
        folder = base / self.name
        return None if unsafe(base) or unsafe(folder) else folder

    def read(self, name: str) -> bytes | None:
        """What was kept under *name*, as it was written; None if nothing was, or it is damaged."""
        folder = self.path()
        if folder is None:
            return None
        path = folder / name[:2] / f"{name}.bin"
        try:
            found = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # of a system that others only read
            os.utime(path)
        start = len(_MAGIC) + hashlib.sha256().digest_size
        contents = found[start:]
        return contents if found[:start] == _MAGIC + _digest(name, contents) else None

    def write(self, name: str, contents: bytes) -> None:
        """Keep *contents* under *name*. Raises OSError, and leaves what was there, where that cannot be done."""
        folder = self.path()
        if folder is not None:
            path = folder / name[:2] / f"{name}.bin"
            private(path.parent)
            with appearing(path) as file:
                file.write(_MAGIC + _digest(name, contents) + contents)
            self._written += 1
            if self._written % _PRUNED_EVERY == 1:
                self.prune()

    def keep(self, name: str, contents: bytes) -> None:
        """As `write`; a warning says once why that cannot be done."""
        try:
            self.write(name, contents)
        except OSError as error:
            fix = f'make room there, set {CACHE_VARIABLE} to another folder, or to "" to keep nothing'
            _warn(self.path(), f"{error.strerror or error}; they are compiled anew by each run", fix)

    def prune(self) -> None:
        """Delete what was used longest ago until there are less than `LIMIT` bytes, and what a crash left behind.

        Of many writes, some do it.
        """
        folder = self.path()
        found = []
        for path in folder.glob("??/*") if folder else ():
            try:
                status = path.stat()
            except OSError:  # another process has deleted it
                continue
            if path.suffix == ".part" and time.time() - status.st_mtime > _LATE:
                path.unlink(missing_ok=True)
            elif path.suffix == ".bin":
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= LIMIT:
                break
            path.unlink(missing_ok=True)
            total -= size


def unsafe(folder: Path) -> bool:
    """Whether somebody else could have put files there, with a warning that says so. A folder not there is safe."""
    try:
        status = folder.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return False
    if status.st_uid != os.getuid():
        _warn(folder, f"it belongs to another user{_CODE}", f"set {CACHE_VARIABLE} to a folder of your own")
        return True
    if status.st_mode & _OTHERS_MAY_WRITE:
        _warn(folder, f"other users may write there{_CODE}", f"chmod go-w {folder}")
        return True
    return False


@cache  # said once
def _warn(folder: object, why: str, fix: str) -> None:
    warn_user(f"compiled kernels are not kept in {folder}: {why}. Fix: {fix}", UserWarning)


def _digest(name: str, contents: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + contents).digest()


def private(folder: Path) -> None:
    """Make *folder*, and what leads to it, for the user alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(0o700, exist_ok=True)


@contextmanager
def appearing(path: Path) -> Iterator[Any]:
    """A file to write to that becomes *path* at the end, whole and on the disk, or not at all."""
    descriptor, part = tempfile.mkstemp(".part", f"{path.name}.", path.parent)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    with suppress(OSError):  # not every system opens folders
        at = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(at)
        finally:
            os.close(at)
