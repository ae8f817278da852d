"""What libraries ask of PyTorch's compiler, at its path ``polyad._dynamo.utils``."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Whether code that libraries write for PyTorch's compiler is to be preferred on a device: no."""
    return False
