"""Memory without a name, which other processes are given as a file descriptor: nothing of it can stay behind."""

from __future__ import annotations

import os
import tempfile

__all__ = ["new_segment"]


def new_segment(folder: str | None = None) -> int:
    """The file descriptor of an empty segment: a memfd where the system has them (Linux), else, or if *folder* is
    given, a file that is removed from its folder at once.
    """
    if folder is None and hasattr(os, "memfd_create"):
        return os.memfd_create("polyad", os.MFD_CLOEXEC)
    descriptor, path = tempfile.mkstemp(dir=folder)
    os.unlink(path)
    return descriptor
