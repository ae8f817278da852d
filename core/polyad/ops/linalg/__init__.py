"""Linear algebra under PyTorch's path ``polyad.linalg``."""

from __future__ import annotations

from . import products

__all__ = ["products"]
