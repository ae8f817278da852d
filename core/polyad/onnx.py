"""PyTorch's path to the writing of ONNX files, which polyad does not do: programs import it, and few call it."""

from __future__ import annotations

from .compatibility.absent import lacking, stand_in

__all__ = ["export", "is_in_onnx_export"]

__getattr__ = lacking(__name__)
export = stand_in("onnx.export")


def is_in_onnx_export() -> bool:
    """Whether an ONNX file is being written: never.

    >>> import polyad
    >>> polyad.onnx.is_in_onnx_export()
    False
    """
    return False
