"""Which operators a program calls."""

from __future__ import annotations

from typing import Any

from ..language.tree import NativeCall, Operator, walk
from ..modules.functions import ScriptFunction

__all__ = ["operators_of"]


def operators_of(module: Any) -> list[str]:
    """The names of the operators that a module and its submodules call."""
    found: set[str] = set()
    waiting = [
        method
        for one in module.modules()
        for method in one._script_type.methods.values()
        if isinstance(method, ScriptFunction)
    ]
    for method in waiting:
        for node in walk(method.compile().body):
            if isinstance(node, Operator):
                found.add(node.schema.qualified)
            elif isinstance(node, NativeCall):
                found.add(f"polyad::{node.name}")
            function = getattr(node, "function", None)
            if isinstance(function, ScriptFunction) and function not in waiting:
                waiting.append(function)
    return sorted(found)
