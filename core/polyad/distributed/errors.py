"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations

from ..errors import PolyadError

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(PolyadError, RuntimeError):
    """Base of what goes wrong between processes."""


class DistBackendError(DistError):
    """A collective did not end: a process was lost, or came too late, or called something else."""


class DistNetworkError(DistError):
    """A port or a host that cannot be reached, or is taken."""


class DistStoreError(DistError):
    """A key that did not come in time."""


class QueueEmptyError(DistStoreError):
    """There is nothing in a queue of the store."""
