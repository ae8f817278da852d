"""What a worker process knows of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info", "set_worker_info"]


@dataclass(slots=True)
class WorkerInfo:
    """Which worker this is.

    Attributes:
        id: from 0 to num_workers - 1.
        num_workers: how many there are.
        seed: of this worker in this epoch.
        dataset: the worker's copy of the loader's dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What a dataset asks to learn in which worker process it runs; None in the process of the loop itself.

    >>> get_worker_info() is None
    True
    """
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Say which worker this process is."""
    global _info
    _info = info
