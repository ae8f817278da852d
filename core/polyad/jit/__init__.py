"""Calls as graphs: `capture` records what a function does as a `polyad.graph.Graph`, which prints and replays.

capture.py     the mode that records
general.py     graphs for all sizes; unifying.py finds what captures have in common, fitting.py their numbers
calls.py       captures of one function, without data by twins.py; restoring.py puts back what a call changes
bodies.py      the functions of control flow, recorded as graphs
scripting.py   PyTorch's names for scripting, which `polyad.torchscript` does, and
tracing.py     for tracing and files of programs
expanding.py   ops taken apart while they are recorded
"""

from importlib import import_module
from typing import Any

from ..compatibility.absent import lacking
from . import annotations as annotations
from .capture import BakedValueWarning, capture
from .general import generalise
from .scripting import (
    Attribute,
    Final,
    _overload as _overload,
    _overload_method as _overload_method,
    _unwrap_optional as _unwrap_optional,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance_ as isinstance,
    script,
    script_if_tracing,
    script_method,
    unused,
)
from .tracing import (
    TracerWarning,
    enable_onednn_fusion,
    export_opnames,
    freeze,
    load,
    onednn_fusion_enabled,
    optimize_for_inference,
    optimized_execution,
    save,
    set_fusion_strategy,
    strict_fusion,
    trace,
    trace_module,
)

_absent = lacking(__name__)
_script_if_tracing = script_if_tracing  # by which libraries know it
_SCRIPTED = frozenset(
    {
        "CompilationUnit",
        "Error",
        "Future",
        "RecursiveScriptModule",
        "ScriptFunction",
        "ScriptModule",
        "_fork",
        "_wait",
        "fork",
        "wait",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _SCRIPTED:
        return _absent(name)
    found = globals()[name] = getattr(import_module("polyad.torchscript"), name.removeprefix("_"))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_SCRIPTED})


__all__ = [
    "Attribute",
    "BakedValueWarning",
    "Final",
    "TracerWarning",
    "annotate",
    "capture",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "freeze",
    "generalise",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
]
