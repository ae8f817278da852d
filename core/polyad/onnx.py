"""PyTorch's path to the writing of ONNX files, which polyad does not do: programs import it, and few call it."""

from __future__ import annotations

from .compatibility.absent import stand_in

__all__ = ["export"]

export = stand_in("onnx.export")
