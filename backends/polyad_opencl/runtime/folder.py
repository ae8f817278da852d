"""The folder in which compiled kernels are kept: whose it has to be, and how files get into it and out.

What lies there is code that drivers run in this process, without a check of their own: PoCL ends the process over
a file that is cut short. So the folder has to be the user's own, and a file carries a checksum over name and contents,
which is compared before a driver sees it. Files appear whole, by renaming, when their bytes are on the disk.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

CACHE_VARIABLE = "POLYAD_CACHE_DIR"
POCL_VARIABLE = "POCL_CACHE_DIR"
LIMIT = 256 * 2**20
"""Bytes that the folder may have: beyond, the files that were not used for longest go."""

_MAGIC = b"polyad kernels 1\n"
_OTHERS_MAY_WRITE = 0o022
_LATE = 3600


def cache_folder() -> Path | None:
    """Where binaries are kept; None if nowhere: the user says so, or others could put code there."""
    named = os.environ.get(CACHE_VARIABLE)
    if named == "":
        return None
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyad"
    folder = base / "opencl"
    return None if _unsafe(base) or _unsafe(folder) else folder


def _unsafe(folder: Path) -> bool:
    """Whether somebody else could have put files there, with a warning that says so. A folder not there is safe."""
    try:
        status = folder.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return False
    if status.st_uid != os.getuid():
        _warn(folder, "it belongs to another user", f"set {CACHE_VARIABLE} to a folder of your own")
        return True
    if status.st_mode & _OTHERS_MAY_WRITE:
        _warn(folder, "other users may write there", f"chmod go-w {folder}")
        return True
    return False


@cache  # said once
def _warn(folder: Path, why: str, fix: str) -> None:
    warnings.warn(
        f"compiled kernels are not kept in {folder}: {why}, and what lies there is run as code. Fix: {fix}",
        stacklevel=2,
    )


def _digest(name: str, contents: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + contents).digest()


def read(name: str) -> bytes | None:
    """What was kept under *name*, as it was written; None if nothing was, or it is damaged."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / name[:2] / f"{name}.bin"
    try:
        found = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    start = len(_MAGIC) + hashlib.sha256().digest_size
    contents = found[start:]
    return contents if found[:start] == _MAGIC + _digest(name, contents) else None


def write(name: str, contents: bytes) -> None:
    """Keep *contents* under *name*. Raises OSError, and leaves what was there, where that cannot be done."""
    folder = cache_folder()
    if folder is not None:
        path = folder / name[:2] / f"{name}.bin"
        made(path.parent)
        with appearing(path) as file:
            file.write(_MAGIC + _digest(name, contents) + contents)


def made(folder: Path) -> None:
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


def prune() -> None:
    """Delete what was used longest ago until the folder has less than `LIMIT` bytes, and what a crash left behind."""
    folder = cache_folder()
    found = []
    for path in folder.glob("??/*") if folder else ():
        status = path.stat()
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


# ------------------------------------------------------------------------------------------------ PoCL's own folder

_own: Path | None = None


def pocl_cache() -> Path:
    """Where PoCL keeps what it compiled."""
    named = os.environ.get(POCL_VARIABLE)
    if named:
        return Path(named)
    return _own or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pocl" / "kcache"


@contextmanager
def pocl_in_a_folder_of_its_own() -> Iterator[None]:
    """While drivers are looked for: have PoCL, which reads its variable then, use a folder that is empty now.

    PoCL loads what it finds in its folder without looking at it, so one file cut short would end every process that
    comes after. Its files are unpacked from the binaries that `read` gave, and this process deletes them when it ends;
    those of a process that was killed are deleted by the next. A folder that the user names is left to PoCL.
    """
    global _own
    if fcntl is None or os.environ.get(POCL_VARIABLE):
        yield
        return
    if _own is None:
        _own = _fresh()
    if _own is None:
        yield
        return
    os.environ[POCL_VARIABLE] = str(_own)
    try:
        yield
    finally:
        os.environ.pop(POCL_VARIABLE, None)  # for children, which have folders of their own


def _fresh() -> Path | None:
    """A new folder that goes when the process ends, beside the binaries or else where temporary files go."""
    kept = cache_folder()
    for place in filter(None, (kept and kept / "pocl", Path(tempfile.gettempdir()) / f"polyad-pocl-{os.getuid()}")):
        try:
            made(place)
            if _unsafe(place):
                continue
            _sweep(place)
            descriptor, lock = tempfile.mkstemp(".lock", "run-", place)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            folder = Path(lock).with_suffix("")
            folder.mkdir(0o700)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"polyad")
        except OSError:
            continue
        return folder
    return None


def remove_pocls() -> None:
    """Delete the folder that PoCL had of its own. To be called when nothing is asked of it any more."""
    if _own is not None:
        shutil.rmtree(_own, ignore_errors=True)
        with suppress(OSError):
            _own.with_suffix(".lock").unlink()


def _sweep(place: Path) -> None:
    """Delete the folders of processes that have ended: nobody holds their locks."""
    for folder in [path for path in place.glob("run-*") if path.is_dir()]:
        try:
            descriptor = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(".lock").unlink(missing_ok=True)
        except OSError:
            pass  # it is in use
        finally:
            os.close(descriptor)
