"""ONNX files: shown as ``polyad.onnx``, with PyTorch's names. It needs the extra ``polyad[onnx]`` when it is used.

exporting     programs to ONNX: `export`
errors        what is raised
"""

from __future__ import annotations

from . import errors
from .errors import OnnxExporterError
from .exporting.custom import register_custom_op_symbolic, unregister_custom_op_symbolic
from .exporting.exporter import export, is_in_onnx_export
from .exporting.program import ONNXProgram
from .exporting.source import TrainingMode

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]
