"""Programs that are text: what PyTorch's archives hold, and what a `CompilationUnit` is given.

`TextUnit` knows the classes and functions of such text and checks them by the same rules as Python's; what is not in it
is asked of *find_source*. Text is parsed, never run: names mean operators, types and definitions of the text alone.
"""

from __future__ import annotations

import ast
import collections
import enum
from collections.abc import Callable, Sequence
from typing import Any

import polyad
from polyad import nn

from ..checking.builtins import FUNCTIONS, UNSUPPORTED
from ..checking.values import ClassValue, FunctionValue, NativeValue, OperatorValue, Plain, Value
from ..checking.written import WRITTEN
from ..language import tree
from ..language.source import CompileError, Place, Source, UnsupportedError, parsed
from ..operators.schemas import known
from ..types import types as t
from ..types.annotations import type_of_constant
from ..types.types import Type
from .functions import ScriptFunction, ScriptMethod
from .namespaces import ModuleValue, TorchValue
from .program import PROGRAM
from .resolving import Resolver

__all__ = ["TextResolver", "TextUnit"]

_TYPES: dict[str, Type] = {
    "Tensor": t.TENSOR, "int": t.INT, "float": t.FLOAT, "bool": t.BOOL, "str": t.STR, "complex": t.COMPLEX,
    "NoneType": t.NONE, "None": t.NONE, "number": t.NUMBER, "Scalar": t.NUMBER, "Device": t.DEVICE, "Any": t.ANY,
    "Generator": t.GENERATOR, "Layout": t.INT, "ScalarType": t.INT, "MemoryFormat": t.INT, "Stream": t.STREAM,
    "list": t.Basic("AnyList"), "tuple": t.Basic("AnyTuple"), "dict": t.Basic("AnyDict"), "NoReturn": t.NEVER,
}  # fmt: skip


class TextUnit:
    """The definitions of text, by qualified name, ``__torch__.models.Net``.

    Args:
        find_source: the text that defines a name, None if there is none; asked when the name is first wanted.
        constants: the pool of constants that the text names.

    Attributes:
        types: the classes that are known.
        functions: the functions that are known.
    """

    def __init__(
        self, find_source: Callable[[str], str | None] = lambda name: None, constants: Sequence[Any] = (),
        resolver: Any = None,
    ) -> None:  # fmt: skip
        self._find_source, self.constants, self.outer = find_source, constants, resolver
        self.types: dict[str, Type] = {}
        self.functions: dict[str, ScriptFunction] = {}
        self._sources: set[str] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> TextUnit:
        return self  # modules that are copied have the same program

    def resolver(self) -> TextResolver:
        """What the names in the text mean."""
        return TextResolver(self)

    def type(self, qualified: str) -> Type | None:
        """The class of that name, None if there is none."""
        self._load(qualified)
        return self.types.get(qualified)

    def function(self, qualified: str) -> ScriptFunction | None:
        """The function of that name, None if there is none."""
        self._load(qualified)
        return self.functions.get(qualified)

    def _load(self, qualified: str) -> None:
        if qualified in self.types or qualified in self.functions:
            return
        module = qualified.rpartition(".")[0]
        if module in self._sources:
            return
        self._sources.add(module)
        text = self._find_source(qualified)
        if text is not None:
            self.define(text, module + ".", f"code/{module.replace('.', '/')}.py")

    def define(self, text: str, prefix: str = "", file: str = "<string>") -> list[str]:
        """Take over what *text* defines, under names that begin with *prefix*; gives the names.

        Raises CompileError for text that is no program.
        """
        source = Source(text, file)
        try:
            module = parsed(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 1
            place = Place(source, line, max((getattr(error, "offset", 1) or 1) - 1, 0))
            raise CompileError(f"script: the text is no program: {getattr(error, 'msg', error)}", place) from None
        resolver = self.resolver()
        classes: list[tuple[ast.ClassDef, str]] = []
        found = []
        for node in module.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.append(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                _check_name(node.name, source.place(node))
                classes.append((node, prefix + node.name))
                self.types[prefix + node.name] = _begun_class(node, prefix + node.name, source)
            elif not isinstance(node, (ast.FunctionDef, ast.Import, ast.ImportFrom)) and not _is_text(node):
                raise UnsupportedError("script: only functions and classes can be defined", source.place(node))
        for node, qualified in sorted(classes, key=lambda one: _base_name(one[0]) != "NamedTuple"):
            self._fill(node, qualified, source, resolver)
        for node in module.body:
            if isinstance(node, ast.FunctionDef):
                qualified = prefix + node.name
                self.functions[qualified] = ScriptFunction(node.name, qualified, source, node, resolver)
        return found

    # -------------------------------------------------------------------------------------------------- classes

    def _fill(self, node: ast.ClassDef, qualified: str, source: Source, resolver: TextResolver) -> None:
        """The attributes and methods of a class."""
        made = self.types[qualified]
        if isinstance(made, t.EnumType):
            return
        if isinstance(made, t.TupleType):
            self.types[qualified] = _named_tuple(node, qualified, source, resolver)
            return
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                self._add_method(made, one, source, resolver)
            elif isinstance(made, t.ClassType):
                _add_attribute(made, one, source, resolver)

    def _add_method(self, made: Any, node: ast.FunctionDef, source: Source, resolver: TextResolver) -> None:
        if isinstance(made, t.InterfaceType):
            made.methods[node.name] = resolver.signature(node, source, made)
            return
        static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
        first = None if static or not made.is_module else PROGRAM.module_value(
            tree.Local(made, source.place(node), node.args.args[0].arg if node.args.args else "self"), made
        )  # fmt: skip
        method = ScriptMethod(node.name, f"{made.name}.{node.name}", source, node, resolver,
                              self_type=None if static else made, first=first)  # fmt: skip
        made.methods[node.name] = method
        if made.python is not None:
            setattr(made.python, node.name, method)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _check_name(name: str, place: Place) -> None:
    """Refuse names that mean something to Python."""
    if name.startswith("__") and name.endswith("__"):
        raise UnsupportedError(f"script: {name} is no name of an attribute or a class", place)


def _base_name(node: ast.ClassDef) -> str:
    return node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""


def _begun_class(node: ast.ClassDef, qualified: str, source: Source) -> Type:
    """The type of a class whose body has not been looked at."""
    base = _base_name(node)
    if base == "NamedTuple":
        return t.TupleType((), qualified)
    if base == "Enum":
        members = {}
        for one in node.body:
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                _check_name(one.targets[0].id, source.place(one))
                members[one.targets[0].id] = _literal_value(one.value, source.place(one))
        if not members:
            raise CompileError(f"script: enumeration {qualified} has no members", source.place(node))
        python = enum.Enum(node.name, members)  # type: ignore[misc]
        return t.EnumType(qualified, type_of_constant(next(iter(members.values()))) or t.INT, python)
    if base in ("Interface", "ModuleInterface"):
        return t.InterfaceType(qualified, is_module=base == "ModuleInterface")
    is_module = base == "Module"
    return t.ClassType(qualified, python=None if is_module else type(node.name, (), {}), is_module=is_module)


def _named_tuple(node: ast.ClassDef, qualified: str, source: Source, resolver: TextResolver) -> Type:
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    names = [one.target.id for one in fields]  # type: ignore[union-attr]
    for name in names:
        _check_name(name, source.place(node))
    types = [resolver.annotation(one.annotation, source.place(one), source) for one in fields]
    defaults = [_literal_value(one.value, source.place(one)) for one in fields if one.value is not None]
    python = collections.namedtuple(node.name, names, rename=True, defaults=defaults)  # type: ignore[misc]
    return t.TupleType(tuple(types), qualified, tuple(names), python, tuple(defaults))


def _add_attribute(made: t.ClassType, node: ast.stmt, source: Source, resolver: TextResolver) -> None:
    """An attribute of a class by its line: ``x : Tensor``, ``__parameters__ = [...]``, ``__annotations__["0"] = T``."""
    place = source.place(node)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        name, annotation = node.target.id, node.annotation
        _check_name(name, place)
        if node.value is not None:
            made.constants[name] = _literal_value(node.value, place)
            return
        made.attributes[name] = resolver.annotation(annotation, place, source)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        names = [_literal_value(one, place) for one in node.value.elts] if isinstance(node.value, ast.List) else []
        if node.targets[0].id == "__parameters__":
            made.parameters += names
        elif node.targets[0].id == "__buffers__":
            made.buffers += names
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        name = _literal_value(node.targets[0].slice, place)
        _check_name(name, place)
        made.attributes[name] = resolver.annotation(node.value, place, source)
    elif not isinstance(node, ast.Pass) and not _is_text(node):
        raise UnsupportedError("script: a class holds attributes and methods alone", place)


def _literal_value(node: ast.expr, place: Place) -> Any:
    """A value that is written out: numbers, text, lists and tuples of them, and ``float("inf")``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("float", "complex")
        and not node.keywords
    ):
        kind = float if node.func.id == "float" else complex
        return kind(*[_literal_value(one, place) for one in node.args])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "device":
        return polyad.device(_literal_value(node.args[0], place))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise CompileError("script: a value that is written out is wanted here", place) from None


class TextResolver(Resolver):
    """What the names of a text mean: operators, types, and what the text's unit defines."""

    def __init__(self, unit: TextUnit) -> None:
        super().__init__(PROGRAM, {})
        self.unit = unit

    def name(self, checker: Any, name: str, place: Place) -> Value | None:
        """What a name means that the function does not set."""
        found = self._defined(name) or _NAMES.get(name)
        if found is not None:
            return found
        if name == "torch":
            return TorchValue()
        if name == "CONSTANTS":
            return ConstantsValue(self.unit.constants)
        if name in WRITTEN:
            return WRITTEN[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        if self.unit.outer is not None:
            outer = self.unit.outer(name)
            if outer is not None:
                return self.value_of(outer, name, place)
        return QualifiedValue(self.unit, name) if name == "__torch__" else UNSUPPORTED.get(name)

    def _defined(self, name: str) -> Value | None:
        function = self.unit.functions.get(name)
        if function is not None:
            return FunctionValue(function)
        type = self.unit.types.get(name)
        return None if type is None else ClassValue(type)

    def annotation(self, node: ast.expr, place: Place, source: Source, several: bool = False) -> Any:
        """The type that an annotation means."""
        if several and isinstance(node, ast.Tuple):
            return tuple([self.annotation(one, place, source) for one in node.elts])
        return self._type(node, place)

    def _type(self, node: ast.expr, place: Place) -> Type:
        if isinstance(node, ast.Constant):
            if node.value is None:
                return t.NONE
            if isinstance(node.value, str):
                return self._type(ast.parse(node.value, mode="eval").body, place)
        if isinstance(node, ast.Name) and node.id in _TYPES:
            return _TYPES[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return t.union([self._type(node.left, place), self._type(node.right, place)])
        if isinstance(node, ast.Subscript):
            return self._type_of_parts(node, place)
        qualified = _dotted_name(node)
        found = None if qualified is None else self.unit.type(qualified) or _TYPES.get(qualified.removeprefix("torch."))
        if found is not None:
            return found
        if qualified in ("torch.device", "torch.dtype"):
            return t.DEVICE if qualified == "torch.device" else t.DTYPE
        if self.unit.outer is not None and isinstance(node, ast.Name):
            outer = self.unit.outer(node.id)
            if outer is not None:
                return self.type(outer, place)
        if isinstance(node, ast.BinOp):
            raise CompileError(
                f"script: Expression of type {ast.unparse(node)} cannot be used in a type expression", place,
                fix="write Union or Optional",
            )  # fmt: skip
        raise CompileError(
            f"script: Unknown type name '{ast.unparse(node)}'", place, fix="use a type that the text defines"
        )

    def _type_of_parts(self, node: ast.Subscript, place: Place) -> Type:
        word = (_dotted_name(node.value) or "").rpartition(".")[2]
        if not word:
            raise CompileError("script: Subscripted type must be a type identifier", place, fix="name a type")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inner = [self._type(one, place) for one in parts]
        count = {"List": 1, "list": 1, "Optional": 1, "Future": 1, "Final": 1, "Dict": 2, "dict": 2}.get(word)
        if count is not None and len(inner) != count:
            raise CompileError(f"script: {word} takes {count} types", place)
        if word in ("List", "list") or word.startswith("BroadcastingList"):
            return t.ListType(inner[0])
        if word in ("Dict", "dict"):
            return t.DictType(*inner)
        if word == "Optional":
            return t.optional(inner[0])
        if word in ("Tuple", "tuple"):
            return t.TupleType(tuple(inner))
        if word == "Union":
            return t.union(inner)
        if word == "Future":
            return t.FutureType(inner[0])
        if word == "Final":
            return inner[0]
        raise CompileError(
            f"script: Unknown type constructor {word}", place, fix="use List, Dict, Tuple, Optional or Union"
        )

    def _evaluated(self, node: ast.expr, place: Place) -> Any:
        """A default, which must be written out."""
        if isinstance(node, ast.Attribute) and _dotted_name(node.value) == "CONSTANTS":
            return ConstantsValue(self.unit.constants).constant(node.attr, place)
        return _literal_value(node, place)

    def raised(self, checker: Any, node: ast.expr, place: Place) -> tree.Statement:
        """``raise Exception(...)``: an exception of Python's by its name."""
        call = node.func if isinstance(node, ast.Call) else node
        name = (_dotted_name(call) or "").rpartition(".")[2]
        kind = _EXCEPTIONS.get(name)
        if kind is None:
            raise CompileError(
                f"script: {name or 'this'} is no exception", place, fix="raise one of Python's exceptions"
            )
        message = None
        if isinstance(node, ast.Call) and node.args:
            message = checker.check(node.args[0])
            if message.type != t.STR:
                message = checker.operator(("aten::str",), [message], {}, place)
        return tree.Raise(place, kind, message)


_EXCEPTIONS = {one.__name__: one for one in (
    Exception, RuntimeError, ValueError, TypeError, KeyError, IndexError, AssertionError, NotImplementedError,
    AttributeError, ArithmeticError, ZeroDivisionError, OverflowError, LookupError, StopIteration,
)}  # fmt: skip


def _dotted_name(node: ast.expr) -> str | None:
    """``a.b.c`` as text."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


class OpsValue(Value):
    """``ops`` in text: operators by namespace and name."""

    def __init__(self, namespace: str | None = None) -> None:
        self.namespace = namespace

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        if self.namespace is None:
            return OpsValue(name)
        if self.namespace == "polyad":
            function = _native_function(name)
            if function is not None:
                return NativeValue(name.replace("nn_functional_", "nn.functional."), function)
        if known(f"{self.namespace}::{name}"):
            return OperatorValue(f"{self.namespace}::{name}")
        raise UnsupportedError(
            f"script: unknown builtin op: {self.namespace}::{name}", place, fix="polyad has no such operator"
        )


def _native_function(name: str) -> Any:
    if name.startswith("nn_functional_"):
        return getattr(nn.functional, name.removeprefix("nn_functional_"), None)
    if name.startswith("Tensor_"):
        return getattr(polyad.Tensor, name.removeprefix("Tensor_"), None)
    value = getattr(polyad, name, None)
    return value if callable(value) and not isinstance(value, type) else None


class ConstantsValue(Value):
    """``CONSTANTS`` in text: the pool of an archive."""

    def __init__(self, pool: Sequence[Any]) -> None:
        self.pool = pool

    def constant(self, name: str, place: Place) -> Any:
        """The constant ``c0``."""
        if not name[1:].isdigit() or int(name[1:]) >= len(self.pool):
            raise CompileError(f"script: there is no constant {name}", place)
        return self.pool[int(name[1:])]

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        value = self.constant(name, place)
        type = getattr(value, "_script_type", None) or type_of_constant(value)
        if type is None:
            raise CompileError(f"script: the constant {name} is of no type of TorchScript's", place)
        return Plain(tree.Constant(type, place, value, name))


class QualifiedValue(Value):
    """``__torch__.a`` in text, until it is the name of a class or a function."""

    def __init__(self, unit: TextUnit, name: str) -> None:
        self.unit, self.name = unit, name

    def described(self) -> str:
        return self.name

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        qualified = f"{self.name}.{name}"
        function = self.unit.function(qualified)
        if function is not None:
            return FunctionValue(function)
        type = self.unit.type(qualified)
        return QualifiedValue(self.unit, qualified) if type is None else ClassValue(type)


_NAMES: dict[str, Value] = {
    "ops": OpsValue(),
    "annotate": WRITTEN["jit.annotate"],
    "fork": FUNCTIONS["jit.fork"],
    "math": ModuleValue(Resolver(PROGRAM, {}), __import__("math"), "math"),
}
