"""ONNX files: shown as ``polyad.onnx``, with PyTorch's names. It needs the extra ``polyad[onnx]`` when it is used.

exporting     programs to ONNX: `export`
importing     models of ONNX as Modules: `load`
errors        what is raised
"""

from __future__ import annotations

from polyad.compatibility.absent import lacking

from . import errors
from .errors import OnnxExporterError
from .exporting.custom import register_custom_op_symbolic, unregister_custom_op_symbolic
from .exporting.exporter import export, is_in_onnx_export
from .exporting.program import ONNXProgram
from .exporting.source import TrainingMode
from .loading import load

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "load",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

__getattr__ = lacking("polyad.onnx")
