"""Names that programs ask of PyTorch's module of what its primitives share."""

from __future__ import annotations

from .base.state import warn_user
from .errors import PolyadError
from .settings import are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled

__all__ = ["NotDeterministic", "alert_not_deterministic"]


class NotDeterministic(PolyadError, RuntimeError):
    """What depends on timing, where `polyad.use_deterministic_algorithms` forbids it."""


def alert_not_deterministic(caller: str) -> None:
    """What a program calls before it computes what depends on timing: raises RuntimeError, or warns, if
    `polyad.use_deterministic_algorithms` asked for that.

    >>> from polyad._prims_common import alert_not_deterministic
    >>> alert_not_deterministic("my_kernel")
    """
    if not are_deterministic_algorithms_enabled():
        return
    message = f"{caller} says that it depends on timing, and use_deterministic_algorithms is on"
    if not is_deterministic_algorithms_warn_only_enabled():
        raise NotDeterministic(message, fix="use polyad.use_deterministic_algorithms(True, warn_only=True)")
    warn_user(message, UserWarning)
