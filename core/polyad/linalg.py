"""Linear algebra under PyTorch's path ``polyad.linalg``."""

from __future__ import annotations

from .ops.statistics import vector_norm

__all__ = ["vector_norm"]
