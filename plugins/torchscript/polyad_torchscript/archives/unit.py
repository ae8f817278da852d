"""The texts of an archive as a program: its classes as types, its functions checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from polyad.errors import PolyadError
from polyad.serialization.pickles import Pending

from ..language import tree
from ..language.source import CompileError
from ..modules.functions import ScriptFunction
from ..modules.resolving import _ALWAYS
from ..modules.texts import TextResolver, TextUnit
from ..operators.schemas import known, schemas_of
from ..running.operators import implementation
from ..types import types as t
from ..types.types import Type
from .names import ArchiveResolver, public_function
from .objects import NamedValue, Typed

__all__ = ["ArchiveUnit"]


class ArchiveUnit(TextUnit):
    """The definitions in the texts of an archive, by the module that each is of.

    Attributes:
        named_constants: where the texts name which constant, as far as they have been checked.

    Raises CompileError for a text that is no program.
    """

    def __init__(self, texts: Mapping[str, str], constants: list[Any]) -> None:
        super().__init__(lambda name: texts.get(name.rpartition(".")[0]), constants)
        self.named_constants: list[tuple[int, tree.Constant]] = []
        self._texts = texts
        self._resolver = ArchiveResolver(self)

    def resolver(self) -> TextResolver:
        """What the names in the text mean."""
        return self._resolver

    def class_named(self, name: str) -> Type:
        """The class of that qualified name.

        Raises CompileError if there is none.
        """
        found = self.type(name)
        if found is None:
            what = "is of C++, which polyad has not" if name.startswith("__torch__.torch.classes.") else "is not there"
            raise CompileError(f"load: the class {name} {what}")
        return found

    def missing(self) -> list[str]:
        """The operators that the texts call and polyad has not."""
        found: dict[str, None] = {}
        for text in self._texts.values():
            try:
                nodes = ast.walk(ast.parse(text))
                names = [name for node in nodes if (name := _operator(node)) is not None]
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue  # which is told where the text is checked
            found.update(dict.fromkeys([name for name in names if not _is_there(name)]))
        return sorted(found)

    def check(self) -> None:
        """Check all functions and methods.

        Raises CompileError.
        """
        for home, text in self._texts.items():
            if home not in self._sources:
                self._sources.add(home)
                self.define(text, home + ".", f"code/{home.replace('.', '/')}.py")
        for kind in self.types.values():
            if isinstance(kind, t.ClassType):
                for method in list(kind.methods.values()):
                    if isinstance(method, ScriptFunction):
                        method.compile()
        for function in self.functions.values():
            function.compile()

    # -------------------------------------------------------------------------------------------- constants, objects

    @staticmethod
    def is_pending(value: Any) -> bool:
        """Whether a constant is a tensor that is not loaded yet."""
        return isinstance(value, Pending)

    def set_constants(self, constants: list[Any]) -> None:
        """Put the constants where texts name them."""
        self.constants[:] = constants  # type: ignore[index]
        for number, node in self.named_constants:
            node.value = constants[number]

    def value(self, kind: Type, value: Any) -> Any:
        """*value*, of a pickle, as what a program has for *kind*: members of enumerations and NamedTuples are made."""
        if isinstance(value, Typed):
            value = value.value
        if isinstance(value, NamedValue):
            of = self.class_named(value.name)
            try:
                return of.python(*value.arguments)  # type: ignore[attr-defined]
            except (ValueError, TypeError, AttributeError) as error:
                raise PolyadError(f"{value.name} cannot be made of what the archive says: {error}") from None
        if isinstance(kind, t.UnionType):
            kind = next((one for one in kind.members if one != t.NONE), kind)
        if type(value) is list and isinstance(kind, t.ListType):
            return [self.value(kind.element, one) for one in value]
        if type(value) is dict and isinstance(kind, t.DictType):
            return {self.value(kind.key, key): self.value(kind.value, one) for key, one in value.items()}
        if type(value) is tuple and isinstance(kind, t.TupleType) and len(value) == len(kind.elements):
            parts = [self.value(part, one) for part, one in zip(kind.elements, value, strict=True)]
            return tuple(parts) if kind.python is None else kind.python(*parts)
        return value


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
    if name in _ALWAYS or name in _OF_THE_LANGUAGE:
        return True
    return known(name) and any(implementation(schema) is not None for schema in schemas_of(name))


_OF_THE_LANGUAGE = frozenset({"aten::device", "aten::list", "aten::dict", "aten::format"})
