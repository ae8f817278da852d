"""PyTorch's path to the writing of ONNX files, which polyad does not do: programs import it, and few call it."""

from __future__ import annotations

from .compatibility.absent import lacking, stand_in

__all__ = ["export"]

__getattr__ = lacking(__name__)
export = stand_in("onnx.export")
