"""oneDNN, of which polyad makes no use, at PyTorch's path: programs ask, and hear that it is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available"]

enabled = False


def is_available() -> bool:
    """False: kernels for the CPU are polyad's own.

    >>> import polyad
    >>> polyad.backends.mkldnn.is_available()
    False
    """
    return False


@contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """Changes nothing while it is entered: there is nothing to switch."""
    yield
