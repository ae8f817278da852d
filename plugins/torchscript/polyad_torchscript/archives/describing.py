"""From a module that runs a program to the program as text and objects, to be written.

A module that was traced or loaded has its text already. Of one that was scripted, the classes of all its submodules are
printed, with the functions and classes that their programs use.
"""

from __future__ import annotations

import enum
from typing import Any

from polyad.base.dtypes import DType
from polyad.errors import ArgumentTypeError, safe_repr
from polyad.tensor import Tensor

from ..language.printing import print_function, type_text
from ..modules.functions import ScriptFunction
from ..modules.recursive import ScriptModule, type_name
from ..running.values import CODES
from ..types import types as t
from ..types.types import Type
from .objects import NamedValue, ScriptObject, Typed
from .program import Program
from .scripted import texts_of, texts_of_functions

__all__ = ["described"]

_PLACEHOLDER = "__torch__.PlaceholderModule"


def described(one: Any) -> Program:
    """The program of a module or a function."""
    unit = one.__dict__.get("_unit")
    if isinstance(one, ScriptFunction):
        return _of_function(one, unit)
    if unit is not None:
        root = _Objects().of(one)
        return Program(dict(unit._texts), root, list(unit.constants), one.original_name)
    texts, constants = texts_of(one)
    return Program(texts, _Objects().of(one), constants, type_name(one))


def _of_function(one: ScriptFunction, unit: Any) -> Program:
    """A function as the ``forward`` of a module without anything else."""
    printed = print_function(one.compile(), indent=1)
    lines = printed.text.splitlines()
    begin = lines[0].index("(") + 1
    inside = lines[0][begin:]
    separator = "" if inside.startswith(")") else ", "
    lines[0] = f"  def forward(self: {_PLACEHOLDER}{separator}{inside}"
    head = ["class PlaceholderModule(Module):", "  __parameters__ = []", "  __buffers__ = []", "  training : bool"]
    texts = {"__torch__": "\n".join([*head, *lines]) + "\n"}
    if unit is not None:
        texts |= {home: text for home, text in unit._texts.items() if home != "__torch__"}
        constants = list(unit.constants)
    else:
        more, constants = texts_of_functions(printed)
        for home, text in more.items():
            texts[home] = texts.get(home, "") + text
    return Program(texts, ScriptObject(_PLACEHOLDER, {"training": True}), constants, one.name)


class _Objects:
    """Modules and instances as objects of their classes; each once."""

    def __init__(self) -> None:
        self.made: dict[int, ScriptObject] = {}

    def of(self, one: Any) -> ScriptObject:
        """The object of a module, or of an instance of a scripted class."""
        if id(one) in self.made:
            return self.made[id(one)]
        kind: t.ClassType = one._script_type
        state: dict[str, Any] = {}
        found = self.made[id(one)] = ScriptObject(kind.name, state)
        for name, type in kind.attributes.items():
            state[name] = self.value(type, getattr(one, name), f"{kind.name}.{name}")
        return found

    def value(self, type: Type, value: Any, where: str) -> Any:
        """A value of *type* as a pickle has it."""
        if value is None or (isinstance(value, (bool, int, float, complex, str)) and not isinstance(value, enum.Enum)):
            return value
        if isinstance(value, Tensor):
            return value
        if isinstance(value, DType):
            return CODES[value.name]
        if isinstance(type, t.UnionType):
            type = next((one for one in type.members if one != t.NONE), type)
        if isinstance(value, enum.Enum) and isinstance(type, t.EnumType):
            return NamedValue(type.name, (value.value,))
        if isinstance(value, (list, tuple)) and isinstance(type, t.ListType):
            return Typed([self.value(type.element, one, where) for one in value], type_text(type))
        if isinstance(value, dict) and isinstance(type, t.DictType):
            items = {self.value(type.key, key, where): self.value(type.value, one, where) for key, one in value.items()}
            return Typed(items, type_text(type))
        if isinstance(value, tuple) and isinstance(type, t.TupleType):
            return tuple([self.value(part, one, where) for part, one in zip(type.elements, value, strict=True)])
        if isinstance(type, t.ClassType) or isinstance(value, ScriptModule):
            return self.of(value)
        if type in (t.DEVICE, t.LAYOUT, t.MEMORY_FORMAT):
            return value if type == t.DEVICE else int(value)
        raise ArgumentTypeError(
            f"save: {where} is {safe_repr(value)}, which cannot be saved", fix="set it to None before"
        )
