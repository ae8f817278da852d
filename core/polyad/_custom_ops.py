"""PyTorch's older path to what a rule for shapes may ask."""

from __future__ import annotations

from .library import get_ctx, impl_abstract

__all__ = ["get_ctx", "impl_abstract"]
