"""Sharing memory through DLPack, at PyTorch's older path; `polyad.from_dlpack` is the same function."""

from __future__ import annotations

from ..interop.dlpack import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
