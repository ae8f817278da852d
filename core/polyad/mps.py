"""Apple's GPUs, of which polyad has no backend, at PyTorch's path: programs ask, and hear that there is none."""

from __future__ import annotations

from typing import Any

from .compatibility.absent import lacking
from .errors import DeviceError

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "seed", "synchronize"]

__getattr__ = lacking(__name__)


def is_available() -> bool:
    """False: there is no device of this type.

    >>> import polyad
    >>> polyad.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """0: there is no device of this type.

    >>> import polyad
    >>> polyad.mps.device_count()
    0
    """
    return 0


def empty_cache() -> None:
    """Does nothing: there is no device that keeps memory."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no device that draws."""


def seed() -> None:
    """Does nothing: there is no device that draws."""


def synchronize(device: Any = None) -> None:
    """Raises RuntimeError (DeviceError): there is no device to wait for."""
    raise DeviceError(
        "mps.synchronize: there is no device of this type",
        fix="ask mps.is_available() first, or use polyad.accelerator",
    )
