"""``polyad.torchscript``: the language of `polyad.jit.script`, its types, its checker, and what runs it.

types/       the types, and those that annotations mean
operators/   the signatures of operators, as PyTorch declares them
language/    the typed program: its tree, where it is from, and its text
checking/    Python's tree to the typed one: names, types, overloads, refinement
running/     the typed program as Python's bytecode
library/     layers and functions of polyad.nn as programs
graphs/      programs as graphs with blocks
modules/     scripted functions, classes and modules, and what Python's names mean in them

Invariant: what runs is made of a checked tree, never of text.
"""

from .language.source import CompileError, UnsupportedError
from .modules.classes import script_class, script_interface
from .modules.functions import ScriptFunction, ScriptMethod
from .modules.program import PROGRAM
from .modules.recursive import RecursiveScriptModule, ScriptModule, script_module
from .modules.unit import CompilationUnit
from .running.futures import Future, fork, wait
from .running.values import Error, is_instance

__all__ = [
    "PROGRAM",
    "CompilationUnit",
    "CompileError",
    "Error",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "UnsupportedError",
    "fork",
    "is_instance",
    "script_class",
    "script_interface",
    "script_module",
    "wait",
]
