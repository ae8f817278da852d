"""The types of the memory behind tensors, at PyTorch's path ``polyad.storage``; the memory is `tensor.storage`."""

from __future__ import annotations

from .ops.memory.storage_types import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
