"""Intel's GPUs, of which polyad has no backend, at PyTorch's path: programs ask, and hear that there is none."""

from __future__ import annotations

from typing import Any

from .errors import DeviceError
from .mps import device_count, empty_cache, is_available, manual_seed, seed

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "seed", "synchronize"]


def synchronize(device: Any = None) -> None:
    """Raises RuntimeError (DeviceError): there is no device to wait for."""
    raise DeviceError(
        "xpu.synchronize: there is no device of this type",
        fix="ask xpu.is_available() first, or use polyad.accelerator",
    )
