"""Reading and writing the user's files: writes that replace a file whole or not at all, and errors that say what to do.

Invariants: a file that `replacing` writes appears under its name only when it is complete and on the disk; until
then, and after any failure, the old file is there, byte for byte. Every OSError leaves here as the same builtin
type, in the house style, with ``errno`` and ``filename`` set.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import PolyadError

__all__ = ["FileForbidden", "FileIsDirectory", "FileMissing", "FileTrouble", "opened", "replacing"]


class FileTrouble(PolyadError, OSError):
    """A file or folder that the operating system would not read or write."""


class FileMissing(FileTrouble, FileNotFoundError):
    """A file or folder that is not there."""


class FileForbidden(FileTrouble, PermissionError):
    """A file or folder that this user may not read or write."""


class FileIsDirectory(FileTrouble, IsADirectoryError):
    """A folder where a file is needed."""


_KINDS: dict[type[OSError], type[FileTrouble]] = {
    FileNotFoundError: FileMissing,
    PermissionError: FileForbidden,
    IsADirectoryError: FileIsDirectory,
}

_ADVICE = {
    errno.ENOENT: "check the path; the folder must exist, it is not created for you",
    errno.EACCES: "choose a folder you may write to, or change its permissions (ls -ld shows them)",
    errno.EPERM: "choose a folder you may write to, or change its permissions (ls -ld shows them)",
    errno.EISDIR: "name a file inside the folder",
    errno.ENOTDIR: "a part of the path is a file, not a folder; check the path",
    errno.ENOSPC: "free some space on the disk, or choose a folder on another one",
    errno.EDQUOT: "free some of your disk quota, or choose another folder",
    errno.EROFS: "the file system is read-only; choose a folder on another one",
}


def trouble(op: str, path: str | os.PathLike[str], cause: OSError, fix: str | None = None) -> FileTrouble:
    """The house-style error for *cause*, of the same builtin type."""
    reason = cause.strerror or str(cause)
    error = _KINDS.get(type(cause), FileTrouble)(
        f"{op}: {os.fspath(path)}: {reason[:1].lower() + reason[1:]}",
        fix=fix or _ADVICE.get(cause.errno or 0, "check the path and the disk"),
    )
    error.errno, error.strerror, error.filename = cause.errno, cause.strerror, os.fspath(path)
    return error


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], op: str) -> Iterator[IO[bytes]]:
    """The file at *path*, open for reading; *op* names the caller in errors."""
    try:
        stream = open(path, "rb")  # noqa: SIM115  (closed below; only opening is explained)
    except IsADirectoryError as cause:
        raise trouble(op, path, cause) from cause
    except OSError as cause:
        fixes = {
            errno.ENOENT: "check the path; no such file is there",
            errno.EACCES: "ask its owner for read permission",
        }
        raise trouble(op, path, cause, fixes.get(cause.errno or 0)) from cause
    with stream:
        yield stream


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], op: str) -> Iterator[IO[bytes]]:
    """A new file to write, which takes the place of the file at *path* when the block ends without an exception.

    The new file is created in the same folder, flushed to the disk, then renamed: another program, or a power cut, sees
        the old file or the new file, never a part. A symbolic link keeps pointing where it points; permissions of an
        old file are kept. A device or a pipe (``/dev/stdout``) cannot be replaced and is written directly.
    """
    target = Path(os.path.realpath(path))
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
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as cause:
        raise trouble(op, path, cause) from cause
    try:
        with os.fdopen(descriptor, "wb") as stream:
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
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    """Put a rename on the disk where the system can; the file itself is there already."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
