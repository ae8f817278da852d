"""Models as graphs, without their Python: `export` makes an `ExportedProgram`, `save` and `load` keep it.

dynamic_shapes.py    which dimensions may have any size
exporting.py         from a model to a program
exported_program.py  the program: graph, tensors, calls
graph_signature.py   what goes in and comes out
calls.py             calls of submodules, and objects of registered classes
decompositions.py    programs in primitives
unflatten.py         programs as modules in modules
files.py             programs in files
"""

from __future__ import annotations

from ..compatibility.absent import lacking
from .calls import register_dataclass
from .decompositions import CustomDecompTable, default_decompositions
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .exporting import draft_export, export
from .files import load, save
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__getattr__ = lacking(__name__)

__all__ = [
    "AdditionalInputs",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]
