"""Calls as graphs: `capture` records what a function does as a `polyad.graph.Graph`, which prints and replays.

capture.py     the mode that records
general.py     graphs for all sizes; unifying.py finds what captures have in common, fitting.py their numbers
bodies.py      the functions of control flow, recorded as graphs
expanding.py   ops taken apart while they are recorded
scripting.py   the decorators of PyTorch's compiler, under which code stays Python
"""

from ..compatibility.absent import lacking
from . import annotations as annotations
from .capture import BakedValueWarning, capture, trace
from .general import generalise
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
    "Final",
    "ScriptModule",
    "annotate",
    "capture",
    "export",
    "generalise",
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
