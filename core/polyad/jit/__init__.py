"""Calls as graphs: `capture` records what a function does as a `polyad.graph.Graph`, which prints and replays.

capture.py     the mode that records
bodies.py      the functions of control flow, recorded as graphs
scripting.py   PyTorch's names for scripting, which `polyad.torchscript` does
"""

from importlib import import_module
from typing import Any

from ..compatibility.absent import lacking
from . import annotations as annotations
from .capture import BakedValueWarning, capture, trace
from .scripting import (
    Attribute,
    Final,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance_ as isinstance,
    load,
    save,
    script,
    script_if_tracing,
    script_method,
    unused,
)

_absent = lacking(__name__)
_SCRIPTED = frozenset({
    "CompilationUnit", "Error", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "fork", "wait",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _SCRIPTED:
        return _absent(name)
    found = globals()[name] = getattr(import_module("polyad.torchscript"), name)
    return found


__all__ = [
    "Attribute",
    "BakedValueWarning",
    "Final",
    "annotate",
    "capture",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "unused",
]
