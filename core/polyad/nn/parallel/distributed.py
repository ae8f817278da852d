"""PyTorch's path to `DistributedDataParallel`, of which polyad has the name alone: training is by a single process."""

from __future__ import annotations

from typing import Any

from ...compatibility.absent import stand_in
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A class that no model is an instance of, so that programs may ask; creating one raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        stand_in("nn.parallel.DistributedDataParallel")()
