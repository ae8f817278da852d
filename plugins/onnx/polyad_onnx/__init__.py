"""ONNX files: shown as ``polyad.onnx``, with PyTorch's names. It needs the extra ``polyad[onnx]`` when it is used.

exporting     programs to ONNX: `export`
errors        what is raised
"""

from __future__ import annotations

from . import errors
from .errors import OnnxExporterError
from .exporting.exporter import export, is_in_onnx_export
from .exporting.program import ONNXProgram

__all__ = ["ONNXProgram", "OnnxExporterError", "errors", "export", "is_in_onnx_export"]
