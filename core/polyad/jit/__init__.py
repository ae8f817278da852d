"""Calls as graphs: `capture` records what a function does, as ops with abstract values; the `Graph` prints and replays.

capture.py     the mode that records
graph.py       the graph: values, nodes, replay
compiling.py   graphs that a backend compiles as a whole
listing.py     how a graph prints
structure.py   tensors inside of nested lists, tuples and dicts
scripting.py   the decorators of PyTorch's compiler, under which code stays Python
"""

from ..compatibility.absent import lacking
from . import annotations as annotations
from .capture import BakedValueWarning, capture, trace
from .graph import Constant, Graph, ModuleCall, Node, Value
from .scripting import (
    Final,
    ScriptModule,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    load,
    save,
    script,
    script_if_tracing,
    script_method,
    unused,
)

__getattr__ = lacking(__name__)

__all__ = [
    "BakedValueWarning",
    "Constant",
    "Final",
    "Graph",
    "ModuleCall",
    "Node",
    "ScriptModule",
    "Value",
    "annotate",
    "capture",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "load",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "unused",
]
