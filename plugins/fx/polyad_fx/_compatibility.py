"""PyTorch's mark for what stays as it is in later versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["compatibility"]

F = TypeVar("F")


def compatibility(is_backward_compatible: bool) -> Callable[[F], F]:
    """A decorator that libraries put on what they promise, or do not promise, to keep; it changes nothing."""
    return lambda marked: marked
