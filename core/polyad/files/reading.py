"""Files open for reading."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import IO

from ..errors import PolyadError
from .remote import is_remote, local_path, reading
from .trouble import checked_path, trouble

__all__ = ["opened", "unpacked_at_most"]

LEAST_ROOM = 1 << 26
MOST_GROWTH = 100


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], op: str) -> Iterator[IO[bytes]]:
    """The file at *path*, or at a URL, open for reading; *op* names the caller in errors, those of reading too."""
    text = checked_path(path, op)
    if is_remote(text):
        with reading(text, op) as remote:
            yield remote
        return
    text = local_path(text)
    fixes = {
        errno.ENOENT: "check the path; no such file is there",
        errno.EACCES: "ask its owner for read permission",
    }
    try:
        with open(text, "rb") as stream:
            yield stream
    except OSError as cause:
        if isinstance(cause, PolyadError):
            raise
        raise trouble(op, text, cause, fixes.get(cause.errno or 0)) from cause


def unpacked_at_most(size: int) -> int:
    """How many bytes a compressed file of *size* bytes may hold: a hundred times its size, and 64 MiB in any case.

    Deflate can make 1 byte of 1,000. Pictures and labels are packed to a third or a tenth.
    """
    return LEAST_ROOM + MOST_GROWTH * size
