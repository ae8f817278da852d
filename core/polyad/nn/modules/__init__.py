"""PyTorch's path to `polyad.nn.Module` and to what registers hooks on all modules."""

from __future__ import annotations

from .. import module as module
from ..module import Module as Module

__all__ = ["Module", "module"]
