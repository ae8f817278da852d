"""Apple's GPUs, of which polyad has no backend, at PyTorch's path: programs ask, and hear that there is none."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: there is no device of this type.

    >>> import polyad
    >>> polyad.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """False: there is no backend for it.

    >>> import polyad
    >>> polyad.backends.mps.is_built()
    False
    """
    return False
