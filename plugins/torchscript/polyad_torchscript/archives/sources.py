"""The texts of an archive as a program: its classes as types, its functions checked when they are first called."""

from __future__ import annotations

import ast
import enum
from collections import namedtuple
from typing import Any

from polyad.errors import PolyadError
from polyad.serialization.pickles import Pending

from ..checking.values import Value
from ..language import tree
from ..language.source import CompileError, Place, Source
from ..modules.containers import ScriptedModuleValue
from ..modules.functions import ScriptFunction, ScriptMethod
from ..operators.schemas import known, schemas_of
from ..running.operators import implementation
from ..types import types as t
from ..types.annotations import type_of_constant
from ..types.types import Type
from .names import ArchiveResolver, public_function
from .objects import NamedValue

__all__ = ["Sources"]

Definition = ast.ClassDef | ast.FunctionDef
_NOWHERE = Place(Source("", "<archive>"))


class Sources:
    """The texts of a program.

    Attributes:
        constants: what they name ``CONSTANTS.c0`` and so on; `set_constants` puts in the tensors.
        named_constants: where they do, by number.
        is_loaded: whether the constants are there.

    Raises:
        CompileError: a text that is not Python's syntax, or defines a name twice.
    """

    def __init__(self, texts: dict[str, str], constants: list[Any]) -> None:
        self.constants, self.named_constants = constants, list[tuple[int, tree.Constant]]()
        self.is_loaded = not any(isinstance(one, Pending) for one in constants)
        self._resolver = ArchiveResolver(self)
        self._definitions: dict[str, tuple[Source, Definition]] = {}
        self._types: dict[str, Type] = {}
        self._functions: dict[str, ScriptFunction] = {}
        for home, text in texts.items():
            self._parse(home, text)

    def _parse(self, home: str, text: str) -> None:
        source = Source(text, f"code/{home.replace('.', '/')}.py")
        try:
            nodes = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise CompileError(f"load: the text {source.file} cannot be read: {error}") from None
        for node in nodes:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                raise CompileError("load: a program's text defines classes and functions alone", source.place(node))
            name = f"{home}.{node.name}"
            if name in self._definitions:
                raise CompileError(f"load: {name} is defined twice", source.place(node))
            self._definitions[name] = source, node

    # ------------------------------------------------------------------------------------------------ what there is

    def definition(self, name: str) -> Definition | None:
        """The definition of a class or function."""
        found = self._definitions.get(name)
        return None if found is None else found[1]

    def member(self, name: str) -> Any:
        """A member of an enumeration by its qualified name, None if it is none."""
        owner, _, last = name.rpartition(".")
        kind = self.type(owner, _NOWHERE) if owner in self._definitions else None
        return kind.python.__members__.get(last) if isinstance(kind, t.EnumType) else None

    def constant_type(self, value: Any) -> Type | None:
        """The type of a constant that may not be loaded yet."""
        if isinstance(value, Pending):
            return t.TENSOR
        if isinstance(value, list) and value and all(isinstance(one, Pending) for one in value):
            return t.ListType(t.TENSOR)
        return type_of_constant(value)

    def set_constants(self, constants: list[Any]) -> None:
        """Put the constants where texts name them."""
        self.constants[:] = constants
        self.is_loaded = True
        for number, node in self.named_constants:
            node.value = constants[number]

    def missing(self) -> list[str]:
        """The operators that texts call and polyad has not."""
        found: dict[str, None] = {}
        for _, definition in self._definitions.values():
            for node in ast.walk(definition):
                name = _operator(node)
                if name is not None and not _is_there(name):
                    found[name] = None
        return sorted(found)

    def functions(self) -> list[ScriptFunction]:
        """All functions and methods, declared."""
        found: list[ScriptFunction] = []
        for name, (source, node) in self._definitions.items():
            if isinstance(node, ast.FunctionDef):
                found.append(self.function(name, source.place(node)))
            else:
                kind = self.type(name, source.place(node))
                methods = kind.methods.values() if isinstance(kind, t.ClassType) else ()
                found += [method for method in methods if isinstance(method, ScriptFunction)]
        return found

    def function(self, name: str, place: Place) -> ScriptFunction:
        """The function of that qualified name."""
        found = self._functions.get(name)
        if found is None:
            source, node = self._definitions[name]
            assert isinstance(node, ast.FunctionDef)
            node.body = _constructing(node.body)
            found = self._functions[name] = ScriptFunction(node.name, name, source, node, self._resolver)
        return found

    # ---------------------------------------------------------------------------------------------------- classes

    def type(self, name: str, place: Place) -> Type:
        """The type of the class of that qualified name.

        Raises CompileError if there is none.
        """
        if name in self._types:
            return self._types[name]
        if name not in self._definitions or not isinstance(self._definitions[name][1], ast.ClassDef):
            what = "a class of C++, which polyad has not" if name.startswith("__torch__.torch.classes.") else "not there"
            raise CompileError(f"load: the class {name} is {what}", place)
        source, node = self._definitions[name]
        assert isinstance(node, ast.ClassDef)
        base = node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""
        if len(node.bases) > 1 or (node.bases and base not in _KINDS):
            raise CompileError(f"load: the class {name} has bases that programs do not have", place)
        made: Type = getattr(self, _KINDS[base])(name, source, node)
        self._types[name] = made
        return made

    def _class(self, name: str, source: Source, node: ast.ClassDef) -> Type:
        python = type(node.name, (object,), {"__module__": name.rpartition(".")[0]})
        made = t.ClassType(name, python=python)
        python._script_type = made  # type: ignore[attr-defined]
        self._types[name] = made
        self._declare(made, source, node)
        for key, method in made.methods.items():
            setattr(python, key, method)
        return made

    def _module(self, name: str, source: Source, node: ast.ClassDef) -> Type:
        made = t.ClassType(name, is_module=True)
        made.compiled = True  # type: ignore[attr-defined]
        self._types[name] = made
        self._declare(made, source, node)
        return made

    def _declare(self, made: t.ClassType, source: Source, node: ast.ClassDef) -> None:
        """Read the attributes and methods of a class."""
        methods = []
        for one in node.body:
            place = source.place(one)
            if isinstance(one, ast.FunctionDef):
                methods.append(one)
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                self._attribute(made, one.target.id, one, source)
            elif isinstance(one, ast.Assign) and len(one.targets) == 1:
                self._assigned(made, one, source)
            elif not isinstance(one, ast.Pass):
                raise CompileError("load: a class has attributes and methods alone", place)
        for one in methods:
            one.body = _constructing(one.body)
            made.methods[one.name] = ScriptMethod(
                one.name, f"{made.name}.{one.name}", source, one, self._resolver, self_type=made,
                first=_self_value(made, one, source),
            )  # fmt: skip

    def _attribute(self, made: t.ClassType, name: str, node: ast.AnnAssign, source: Source) -> None:
        place = source.place(node)
        kind = self._resolver.annotation(node.annotation, place, source)
        if node.value is None:
            made.attributes[name] = kind
        else:
            made.constants[name] = self._resolver._evaluated(node.value, place)

    def _assigned(self, made: t.ClassType, node: ast.Assign, source: Source) -> None:
        target, place = node.targets[0], source.place(node)
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            made.attributes[str(target.slice.value)] = self._resolver.annotation(node.value, place, source)
            return
        names = self._resolver._evaluated(node.value, place)
        word = target.id if isinstance(target, ast.Name) else ""
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise CompileError(f"load: {word} is no list of names", place)
        if word == "__parameters__":
            made.parameters = names
        elif word == "__buffers__":
            made.buffers = names
        elif names:
            raise CompileError(f"load: a class has {word}, which is not read: hooks", place)

    def _named_tuple(self, name: str, source: Source, node: ast.ClassDef) -> Type:
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
        names = [one.target.id for one in fields]  # type: ignore[union-attr]
        types = tuple([self._resolver.annotation(one.annotation, source.place(one), source) for one in fields])
        values = [one.value for one in fields if one.value is not None]
        defaults = tuple([self._resolver._evaluated(one, source.place(node)) for one in values])
        try:
            python = namedtuple(node.name, names, defaults=defaults)  # type: ignore[misc] # noqa: PYI024
        except (ValueError, TypeError) as error:
            raise CompileError(f"load: the class {name} has no good fields: {error}", source.place(node)) from None
        return t.TupleType(types, name, tuple(names), python, defaults)

    def _enumeration(self, name: str, source: Source, node: ast.ClassDef) -> Type:
        members = {}
        for one in node.body:
            if not (isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)):
                raise CompileError(f"load: the enumeration {name} has more than members", source.place(one))
            members[one.targets[0].id] = self._resolver._evaluated(one.value, source.place(one))
        kinds = {type_of_constant(value) for value in members.values()}
        if len(kinds) != 1 or kinds - {t.INT, t.FLOAT, t.STR}:
            raise CompileError(f"load: the enumeration {name} has values of several types", source.place(node))
        try:
            python = enum.Enum(node.name, members)  # type: ignore[misc]
        except (ValueError, TypeError) as error:
            raise CompileError(f"load: the enumeration {name} is none: {error}", source.place(node)) from None
        return t.EnumType(name, kinds.pop(), python)  # type: ignore[arg-type]

    def _interface(self, name: str, source: Source, node: ast.ClassDef) -> Type:
        made = t.InterfaceType(name, is_module=node.bases[0].id == "ModuleInterface")  # type: ignore[attr-defined]
        self._types[name] = made
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                made.methods[one.name] = self._resolver.signature(one, source, made)
        return made

    def value(self, kind: Type, value: Any) -> Any:
        """*value*, of a pickle, as what a program has for *kind*: members of enumerations and NamedTuples are made."""
        if isinstance(value, NamedValue):
            of = self.type(value.name, _NOWHERE)
            try:
                return of.python(*value.arguments)  # type: ignore[attr-defined]
            except (ValueError, TypeError, AttributeError) as error:
                raise PolyadError(f"load: {value.name} cannot be made of what the archive says: {error}") from None
        if isinstance(kind, t.TupleType) and kind.python is not None and type(value) is tuple:
            return kind.python(*[self.value(part, one) for part, one in zip(kind.elements, value, strict=True)])
        if isinstance(kind, t.UnionType):
            kind = next((one for one in kind.members if one != t.NONE), kind)
        if type(value) is list and isinstance(kind, t.ListType):
            return [self.value(kind.element, one) for one in value]
        if type(value) is dict and isinstance(kind, t.DictType):
            return {self.value(kind.key, key): self.value(kind.value, one) for key, one in value.items()}
        if type(value) is tuple and isinstance(kind, t.TupleType):
            return tuple([self.value(part, one) for part, one in zip(kind.elements, value, strict=False)])
        return value


_KINDS = {
    "": "_class", "Module": "_module", "NamedTuple": "_named_tuple", "Enum": "_enumeration", "Interface": "_interface",
    "ModuleInterface": "_interface",
}  # fmt: skip


def _self_value(made: t.ClassType, node: ast.FunctionDef, source: Source) -> Value | None:
    if not made.is_module or not node.args.args:
        return None
    return ScriptedModuleValue(tree.Local(made, source.place(node), node.args.args[0].arg), made)


def _constructing(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements with ``a = C(x)`` in the place of ``a = C.__new__(C)`` and ``b = a.__init__(x)``, as PyTorch writes it."""
    found: list[ast.stmt] = []
    waiting: dict[str, ast.expr] = {}
    for node in body:
        for name in ("body", "orelse"):
            inner = getattr(node, name, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(node, name, _constructing(inner))
        call = node.value if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if call is not None and isinstance(call.func, ast.Attribute) and isinstance(node.targets[0], ast.Name):  # type: ignore[attr-defined]
            owner = call.func.value
            if call.func.attr == "__new__":
                waiting[node.targets[0].id] = owner  # type: ignore[attr-defined]
                continue
            if call.func.attr == "__init__" and isinstance(owner, ast.Name) and owner.id in waiting:
                made = ast.Call(waiting.pop(owner.id), call.args, call.keywords)
                target = ast.Name(owner.id, ast.Store())
                node = ast.fix_missing_locations(
                    ast.copy_location(ast.Assign([target], ast.copy_location(made, call)), node)
                )
        found.append(node)
    return found


def _operator(node: ast.AST) -> str | None:
    """The name of the operator that a node calls."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    if isinstance(owner, ast.Name) and owner.id == "torch":
        return f"aten::{node.func.attr}"
    if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "ops":
        return f"{owner.attr}::{node.func.attr}"
    return None


def _is_there(name: str) -> bool:
    namespace, _, short = name.partition("::")
    if namespace == "polyad":
        return public_function(short) is not None
    if name in _ALWAYS:
        return True
    return known(name) and any(implementation(schema) is not None for schema in schemas_of(name))


from ..modules.resolving import _ALWAYS as _PYTHONS  # noqa: E402

_ALWAYS = _PYTHONS | {"prim::RaiseException", "aten::device", "aten::list", "aten::dict", "aten::format"}
"""Operators that become Python's own."""
