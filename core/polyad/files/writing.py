"""Writes that replace a file whole or not at all.

Invariants: a file that `replacing` writes appears under its name only when it is complete and on the disk; until then,
and after any failure, the old file is there, byte for byte. A process that is killed leaves an unfinished file,
``.NAME.HOST.TOKEN.part``; the next write to that folder removes it.

An unfinished file is locked by its writer until it has its name, and the system takes the lock from a process that
ends. So a file whose lock is free has no writer. Its creator looks, when it has the lock, whether the file is still
there: between creating and locking, another process may have taken it for abandoned. Of a lock that only holds on one
machine, as on some network file systems, nothing is concluded about files that another machine began (HOST), until
nobody has written to them for a day.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import importlib
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..errors import PolyadError
from .remote import is_remote, local_path, replacing_remote
from .trouble import checked_path, trouble

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
"""On Windows, a file that is open cannot be removed."""

__all__ = ["replacing"]

DAY = 86_400
_UNFINISHED = re.compile(r"\..*\.(?P<host>[0-9a-f]{8})\.[0-9a-f]{8}\.part", re.DOTALL)
_LARGE = 1 << 24
_LONGEST_NAME = 200
"""Bytes of a file's name that its unfinished file has too; file systems allow 255 in all."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], op: str) -> Iterator[IO[bytes]]:
    """A new file to write, which takes the place of the file at *path* when the block ends without an exception.

    The new file is created in the same folder, flushed to the disk, then renamed: another program, or a power cut, sees
        the old file or the new file, never a part. A symbolic link keeps pointing where it points; permissions of an
        old file are kept. A device or a pipe (``/dev/stdout``) cannot be replaced and is written directly.
        What earlier writes to the folder left unfinished when they were killed is removed. Of a URL, the file is
        written here and sent when it is complete.
    """
    text = checked_path(path, op)
    if is_remote(text):
        with replacing_remote(text, op) as remote:
            yield remote
        return
    target = Path(os.path.realpath(local_path(text)))
    try:
        old = target.stat() if target.exists() else None
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if old is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if old is not None and not stat.S_ISREG(old.st_mode):
            with target.open("wb") as stream:
                yield stream
            return
        _remove_abandoned(target.parent)
        if old is not None and old.st_size >= _LARGE:
            _let_go_of(target)
        temporary, descriptor = _create(target)
    except OSError as cause:
        raise trouble(op, path, cause) from cause
    lock = None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if fcntl is not None:
                lock = os.dup(descriptor)  # keeps the lock when the stream is closed, until the file has its name
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if old is not None:
                with contextlib.suppress(OSError):  # a file system without permissions has none to keep
                    os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException as cause:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(cause, OSError) and not isinstance(cause, PolyadError):
            raise trouble(op, path, cause) from cause
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _flush_folder(target.parent)


def _let_go_of(old: Path) -> None:
    """Tell the system that it need not keep the contents of a file that is about to be replaced in memory. The new file
    gets that memory then; other memory may first have to be found, which takes longer than writing.
    """
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError):
            descriptor = os.open(old, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _create(target: Path) -> tuple[Path, int]:
    """An unfinished file for *target*, locked where the file system has locks, and its descriptor."""
    begin = os.fsdecode(os.fsencode(target.name)[:_LONGEST_NAME])
    while True:
        temporary = target.with_name(f".{begin}.{_host()}.{secrets.token_hex(4)}.part")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            if _lock(descriptor) is not False and os.path.samestat(os.stat(temporary), os.fstat(descriptor)):
                return temporary, descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Whether the file's lock was free and is now held; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of writers that are no more. Failing to is no error."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _UNFINISHED.fullmatch(entry.name)
            if match is not None:
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry.path, match["host"])


def _remove_if_abandoned(path: str, host: str) -> None:
    # Opened for writing, which a lock on NFS needs; never through a link, never waiting for a pipe's other end.
    flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
            return
        locked = _lock(descriptor)
        is_old = time.time() - status.st_mtime > DAY
        if is_old if locked is None else locked and (is_old or host == _host()):
            if fcntl is None:
                os.close(descriptor)
                descriptor = -1
            # By its name, which only its writer and whoever holds the lock take away: never the file that it became.
            os.unlink(path)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


@functools.cache
def _host() -> str:
    """Eight hex digits for this machine since it was started: processes with the same see each other's locks."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        text = platform.node()
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _flush_folder(folder: Path) -> None:
    """Put a rename on the disk where the system can; the file itself is there already."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
