"""What names mean in the text of an archive, of which nobody says that it is right.

A program calls operators of PyTorch's that polyad has, polyad's public functions of tensors (``ops.polyad.name``), what
its own text defines, and nothing else: no module of Python's can be reached from a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyad.dispatch.catalogue import PUBLIC

from ..checking.builtins import FUNCTIONS
from ..checking.values import FunctionValue, NativeValue, OperatorValue, Plain, Value
from ..checking.written import WRITTEN
from ..language import tree
from ..language.source import CompileError, Place
from ..modules.texts import QualifiedValue, TextResolver
from ..operators.schemas import known
from ..types import types as t
from ..types.annotations import type_of_constant
from .functions import NATIVE
from .objects import PROGRAM as ROOT

__all__ = ["ArchiveResolver", "public_function"]

_NUMBER_WORDS = {
    "inf": float("inf"),
    "nan": float("nan"),
    "infj": complex(0, float("inf")),
    "nanj": complex(0, float("nan")),
}
_LANGUAGE = {
    "annotate": WRITTEN["jit.annotate"], "fork": FUNCTIONS["jit.fork"], "wait": FUNCTIONS["jit.wait"],
    **{name: WRITTEN[name] for name in ("unchecked_cast", "uninitialized", "getattr", "hasattr", "isinstance")},
    **{name: value for name, value in FUNCTIONS.items() if "." not in name},
}  # fmt: skip
_SPACES = ("nn.functional.", "linalg.", "special.", "fft.")


def public_function(name: str) -> tuple[str, Callable[..., Any]] | None:
    """The public function of polyad's that ``ops.polyad.name`` is, with its full name: dots are written as ``_``."""
    for full in (name, *[space + name.removeprefix(space.replace(".", "_")) for space in _SPACES]):
        if full in PUBLIC and full.replace(".", "_") == name:
            return full, PUBLIC[full].call
    return None


class ArchiveResolver(TextResolver):
    """The names in the texts of one archive."""

    lists_as_defaults = True  # as PyTorch writes them

    def name(self, checker: Any, name: str, place: Place) -> Value | None:
        """What a name means that a function does not set."""
        if name == "torch":
            return Operators("aten")
        if name == "ops":
            return Namespaces()
        if name == "CONSTANTS":
            return Constants(self.unit)
        if name == ROOT:
            return Path(self.unit, ROOT)
        if name in _NUMBER_WORDS:
            return Plain(checker.constant(_NUMBER_WORDS[name], place))
        return _LANGUAGE.get(name)


class Operators(Value):
    """``torch``, ``ops.prim`` or ``ops.polyad``: what may be called of a namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def described(self) -> str:
        return f"namespace {self.namespace}"

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        full = f"{self.namespace}::{name}"
        if self.namespace == "polyad":
            found = public_function(name)
            if found is not None:
                return NativeValue(*found)
        elif full in ("prim::dtype", "prim::layout"):
            return NumberedOperator(full)
        elif known(full):
            return OperatorValue(full)
        elif self.namespace == "aten" and name in ("list", "dict", "device"):
            return OperatorValue("aten::device") if name == "device" else FUNCTIONS[name]
        raise CompileError(f"load: polyad has no operator {full}", place)


class NumberedOperator(OperatorValue):
    """An operator that gives a dtype or a layout: a number, as all of them are in archives, so that they compare."""

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        made = super().call(checker, given, named, place).expression(checker, place)
        assert isinstance(made, tree.Operator)
        made.numbered, made.type = True, t.INT
        return Plain(made)


class Namespaces(Value):
    """``ops``."""

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        return Operators(name)


class Constants(Value):
    """``CONSTANTS``."""

    def __init__(self, unit: Any) -> None:
        self.unit = unit

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        values = self.unit.constants
        if name[:1] != "c" or not name[1:].isdecimal() or len(name) > 12 or not int(name[1:]) < len(values):
            raise CompileError(f"load: there is no constant {name[:20]}: there are {len(values)}", place)
        value = values[int(name[1:])]
        kind = t.TENSOR if self.unit.is_pending(value) else type_of_constant(value)
        if kind is None:
            raise CompileError(f"load: the constant {name} is of no type that programs have", place)
        made = tree.Constant(kind, place, value)
        self.unit.named_constants.append((int(name[1:]), made))
        return Plain(made)


class Path(QualifiedValue):
    """A part of the name of one of the program's classes or functions. Functions that polyad itself puts into programs,
    for readers that lack an op, are that op.
    """

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        native = NATIVE.get(f"{self.name}.{name}")
        if native is not None and self.unit.function(f"{self.name}.{name}") is not None:
            return FunctionValue(native)
        found = super().attribute(checker, name, place)
        return Path(self.unit, found.name) if isinstance(found, QualifiedValue) else found
