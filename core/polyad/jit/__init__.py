"""Calls as graphs: `capture` records what a function does as a `polyad.graph.Graph`, which prints and replays.

capture.py     the mode that records
bodies.py      the functions of control flow, recorded as graphs
scripting.py   the decorators of PyTorch's compiler, under which code stays Python
"""

from ..compatibility.absent import lacking
from . import annotations as annotations
from .capture import BakedValueWarning, capture, trace
from .scripting import (
    Final,
    ScriptModule,
    _overload as _overload,
    _overload_method as _overload_method,
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
    "Final",
    "ScriptModule",
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
