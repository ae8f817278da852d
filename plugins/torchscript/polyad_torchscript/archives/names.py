"""What names mean in the text of an archive: operators, the constants, and the program's own classes and functions.

Nothing here evaluates text. An annotation is read node by node, a default is a literal, and a name that is not listed is
refused; so a program can call operators of PyTorch's that polyad has, and polyad's public functions of tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from polyad.dispatch.catalogue import PUBLIC

from ..checking.builtins import FUNCTIONS
from ..checking.values import ClassValue, FunctionValue, NativeValue, OperatorValue, Plain, SpecialValue, Value
from ..checking.written import WRITTEN
from ..language import tree
from ..language.source import CompileError, Place, Source
from ..modules.program import PROGRAM
from ..modules.resolving import Resolver
from ..operators.schemas import known
from ..types import types as t
from ..types.annotations import type_of_constant
from ..types.types import Type
from .objects import PROGRAM as ROOT

__all__ = ["ArchiveResolver", "public_function"]

_TYPES: dict[str, Type] = {
    "Tensor": t.TENSOR, "int": t.INT, "float": t.FLOAT, "bool": t.BOOL, "str": t.STR, "complex": t.COMPLEX,
    "NoneType": t.NONE, "None": t.NONE, "number": t.NUMBER, "Scalar": t.NUMBER, "Any": t.ANY, "Device": t.DEVICE,
    "Generator": t.GENERATOR, "Stream": t.STREAM, "Dtype": t.INT, "Layout": t.INT, "MemoryFormat": t.INT,
}  # fmt: skip
_WRITTEN = {
    "annotate": WRITTEN["jit.annotate"], "unchecked_cast": WRITTEN["unchecked_cast"],
    "uninitialized": WRITTEN["uninitialized"], "getattr": WRITTEN["getattr"], "isinstance": WRITTEN["isinstance"],
    "hasattr": WRITTEN["hasattr"], "fork": FUNCTIONS["jit.fork"], "wait": FUNCTIONS["jit.wait"],
}  # fmt: skip
_NUMBERS = {"inf": float("inf"), "nan": float("nan"), "infj": complex(0, float("inf")), "nanj": complex(0, float("nan"))}


def public_function(name: str) -> tuple[str, Callable[..., Any]] | None:
    """The public function of polyad's that ``ops.polyad.name`` is, with its full name: dots are written as ``_``."""
    for full in (name, *[space + name.removeprefix(space.replace(".", "_")) for space in _SPACES]):
        if full in PUBLIC and full.replace(".", "_") == name:
            return full, PUBLIC[full].call
    return None


_SPACES = ("nn.functional.", "linalg.", "special.", "fft.")


class ArchiveResolver(Resolver):
    """The names in the texts of one archive; *sources* knows its classes and functions."""

    def __init__(self, sources: Any) -> None:
        super().__init__(PROGRAM, {})
        self.sources = sources

    def name(self, checker: Any, name: str, place: Place) -> Value | None:
        """What a name means."""
        if name == "torch":
            return Operators("aten")
        if name == "ops":
            return Namespaces()
        if name == "CONSTANTS":
            return Constants(self.sources)
        if name == ROOT:
            return Path(self.sources, ROOT)
        if name in _NUMBERS:
            return Plain(checker.constant(_NUMBERS[name], place))
        return _WRITTEN.get(name) or (FUNCTIONS.get(name) if "." not in name else None)

    def annotation(self, node: ast.expr, place: Place, source: Source, several: bool = False) -> Any:
        """The type that an annotation means; *several* allows a tuple of types."""
        if several and isinstance(node, ast.Tuple):
            return tuple([self.annotation(one, place, source) for one in node.elts])
        if isinstance(node, ast.Name) and node.id in _TYPES:
            return _TYPES[node.id]
        if isinstance(node, ast.Constant) and node.value is None:
            return t.NONE
        if isinstance(node, ast.Attribute):
            return self.sources.type(_dotted(node), place)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self._composed(node.value.id, [self.annotation(one, place, source) for one in inside], place)
        raise CompileError(f"load: {ast.unparse(node)[:80]} is no type", place)

    def _composed(self, name: str, parts: list[Type], place: Place) -> Type:
        if name == "Tuple":
            return t.TupleType(tuple(parts))
        if name == "Union":
            return t.union(parts)
        if name == "Dict" and len(parts) == 2:
            return t.DictType(*parts)
        single: dict[str, Callable[[Type], Type]] = {
            "List": t.ListType, "Optional": t.optional, "Future": t.FutureType, "Final": lambda part: part,
        }  # fmt: skip
        if name in single and len(parts) == 1:
            return single[name](parts[0])
        raise CompileError(f"load: {name}[...] of {len(parts)} is no type", place)

    def type(self, annotation: Any, place: Place) -> Type:
        """No Python object is an annotation here."""
        raise CompileError(f"load: {annotation!r} is no type", place)

    def _evaluated(self, node: ast.expr, place: Place) -> Any:
        """The value of a default: a literal."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in _NUMBERS:
            return _NUMBERS[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._evaluated(node.operand, place)
            if type(value) in (int, float, complex):
                return -value
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self._evaluated(one, place) for one in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Attribute):
            found = self.sources.member(_dotted(node))
            if found is not None:
                return found
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "annotate":
            return self._evaluated(node.args[-1], place)
        raise CompileError(f"load: {ast.unparse(node)[:80]} is no literal", place)

    def superclass(self, checker: Any, node: ast.Call, place: Place) -> Value:
        """There are no base classes."""
        raise CompileError("load: super() in a program", place)


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "?", *parts[::-1]])


class Operators(Value):
    """``torch`` or ``ops.prim``: the operators of a namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def described(self) -> str:
        return f"namespace {self.namespace}"

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        if self.namespace == "polyad":
            found = public_function(name)
            if found is not None:
                return NativeValue(*found)
        if self.namespace == "prim" and name == "RaiseException":
            return SpecialValue(name, _raise)
        full = f"{self.namespace}::{name}"
        if known(full):
            return OperatorValue(full)
        if self.namespace == "aten" and name in FUNCTIONS:
            return FUNCTIONS[name]
        raise CompileError(f"load: polyad knows no operator {full}", place)


class Namespaces(Value):
    """``ops``."""

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        return Operators(name)


class Constants(Value):
    """``CONSTANTS``."""

    def __init__(self, sources: Any) -> None:
        self.sources = sources

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        values = self.sources.constants
        if not name[1:].isdigit() or name[0] != "c" or not int(name[1:]) < len(values):
            raise CompileError(f"load: there is no constant {name}: there are {len(values)}", place)
        value = values[int(name[1:])]
        kind = type_of_constant(value) if self.sources.is_loaded else self.sources.constant_type(value)
        if kind is None:
            raise CompileError(f"load: the constant {name} is of no type that programs have", place)
        made = tree.Constant(kind, place, value)
        self.sources.named_constants.append((int(name[1:]), made))
        return Plain(made)


class Path(Value):
    """A part of the name of one of the program's classes or functions: ``__torch__.torch.nn``."""

    def __init__(self, sources: Any, path: str) -> None:
        self.sources, self.path = sources, path

    def described(self) -> str:
        return self.path

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        path = f"{self.path}.{name}"
        found = self.sources.definition(path)
        if isinstance(found, ast.FunctionDef):
            return FunctionValue(self.sources.function(path, place))
        if isinstance(found, ast.ClassDef):
            return ClassValue(self.sources.type(path, place))
        return Path(self.sources, path)


_RAISES = tree.Schema(
    "prim::RaiseException",
    "",
    (tree.Argument("message", t.STR), tree.Argument("kind", t.optional(t.STR), None)),
    t.NONE,
)


def _raise(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    arguments = [one.expression(checker, place) for one in given]
    if not 1 <= len(arguments) <= 2 or named:
        raise CompileError("load: RaiseException takes a message and perhaps the name of a class", place)
    return Plain(tree.Operator(t.NONE, place, _RAISES, [*arguments]))
