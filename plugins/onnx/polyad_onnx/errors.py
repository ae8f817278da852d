"""What exporting raises, under PyTorch's names."""

from __future__ import annotations

from polyad.errors import PolyadError

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """Something that the exporter did not do, or found odd, and that does not stop it."""


class OnnxExporterError(PolyadError, RuntimeError):
    """A program that cannot be exported, or a file that is not what the program computes."""


class UnsupportedOperatorError(OnnxExporterError):
    """Ops without a form in ONNX, or in the opset that was asked for."""


class SymbolicValueError(OnnxExporterError):
    """A value that an op's translation cannot use: of an unsuitable dtype or shape."""
