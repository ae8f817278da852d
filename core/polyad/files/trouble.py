"""What the operating system will not do with a file, in words."""

from __future__ import annotations

import errno
import os
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, PolyadError

__all__ = ["FileForbidden", "FileIsDirectory", "FileMissing", "FileTrouble", "checked_path", "trouble"]


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
    errno.ENAMETOOLONG: "choose a shorter name",
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


def checked_path(path: Any, op: str) -> str:
    """*path* as text, if it can be the name of a file.

    Raises:
        TypeError: it is no path.
        ValueError: no file can have that name: it holds NUL, or characters that the file system cannot write.
        FileNotFoundError: it is empty.
    """
    try:
        text = os.fsdecode(path)
        encoded = os.fsencode(text)
    except TypeError:
        raise ArgumentTypeError(
            f"{op}: path is {type(path).__name__}, not a path", operands={"path": path}, fix="pass a str or a Path"
        ) from None
    except UnicodeError as error:
        raise ArgumentError(
            f"{op}: the path {path!r} cannot be written in the file system's encoding: {error}",
            fix="choose another name",
        ) from error
    if b"\0" in encoded:
        raise ArgumentError(f"{op}: the path {text!r} holds NUL, which ends a name", fix="choose another name")
    if not text:
        cause = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise trouble(op, "''", cause, "the path is empty; name a file")
    return text
