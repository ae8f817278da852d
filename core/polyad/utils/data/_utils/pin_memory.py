"""Pinning a batch, at PyTorch's path."""

from polyad.utils.data.dataloader import pinned as pin_memory

__all__ = ["pin_memory"]
