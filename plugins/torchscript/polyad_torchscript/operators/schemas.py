"""The signatures of TorchScript's operators, by name: ``schemas.txt`` has a line for each overload.

The lines are PyTorch's declarations (the interface of ``aten`` and ``prim``), in the order in which overloads are
tried, without notes about memory. They are read when a name is first wanted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..types import types as t
from ..types.types import Type, declared_name

__all__ = ["NO_DEFAULT", "Argument", "Schema", "known", "parse", "schemas_of"]


class _NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = _NoDefault()
"""In the place of a default that there is not."""


@dataclass(frozen=True)
class Argument:
    """One argument of a signature.

    Attributes:
        broadcasts: the length of a list that may be given as one element, 0 of any other.
        keyword_only: it must be named.
    """

    name: str
    type: Type
    default: Any = NO_DEFAULT
    keyword_only: bool = False
    broadcasts: int = 0

    def __str__(self) -> str:
        default = "" if self.default is NO_DEFAULT else f"={self.default!r}"
        return f"{declared_name(self.type)} {self.name}{default}"


@dataclass(frozen=True)
class Schema:
    """The signature of an operator: ``aten::add.Tensor``.

    Attributes:
        variadic: it takes any further arguments.
        result: the type of what it gives; a tuple of several.
    """

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    result: Type
    variadic: bool = False

    @property
    def qualified(self) -> str:
        """``aten::add.Tensor``."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    def __str__(self) -> str:
        parts, star = [], False
        for argument in self.arguments:
            if argument.keyword_only and not star:
                parts.append("*")
                star = True
            parts.append(str(argument))
        return f"{self.qualified}({', '.join(parts + ['...'] * self.variadic)}) -> {declared_name(self.result)}"


@cache
def _declarations() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in files(__package__).joinpath("schemas.txt").read_text(encoding="utf-8").splitlines():
        found.setdefault(line[: re.search(r"[.(]", line).start()], []).append(line)  # type: ignore[union-attr]
    return found


@cache
def schemas_of(name: str) -> tuple[Schema, ...]:
    """The overloads of ``aten::add`` in the order in which they are tried; none if the name is not known.

    >>> [str(schema) for schema in schemas_of("aten::relu")]
    ['aten::relu(Tensor self) -> Tensor']
    """
    return tuple(map(parse, _declarations().get(name, ())))


def known(name: str) -> bool:
    """Whether there is an operator of that name."""
    return name in _declarations()


def parse(line: str) -> Schema:
    """The signature that a declaration of PyTorch's says.

    >>> parse("aten::cat(Tensor[] tensors, int dim=0) -> Tensor").arguments[1].default
    0
    """
    head, result = line.rsplit(" -> ", 1) if not line.endswith(")") else _split_result(line)
    name, _, inner = head.partition("(")
    qualified, _, overload = name.partition(".")
    arguments, keyword_only, variadic = [], False, False
    for part in _parts_between_commas(inner[: inner.rindex(")")]):
        if part == "*":
            keyword_only = True
        elif part == "...":
            variadic = True
        else:
            arguments.append(_parse_argument(part, keyword_only))
    return Schema(qualified, overload, tuple(arguments), _result_type(result), variadic)


def _split_result(line: str) -> tuple[str, str]:
    head, _, result = line.rpartition(" -> ")
    return head, result


def _parts_between_commas(text: str) -> Iterator[str]:
    """The parts of *text* between commas that are in no bracket or string."""
    depth, begin, quote = 0, 0, ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and not depth:
            yield text[begin:position].strip()
            begin = position + 1
    if text[begin:].strip():
        yield text[begin:].strip()


def _parse_argument(text: str, keyword_only: bool) -> Argument:
    declared, equals, default = text.partition("=")
    type_text, _, name = declared.strip().rpartition(" ")
    value = _default_value(default.strip()) if equals else NO_DEFAULT
    type, broadcasts = _type_named(type_text)
    return Argument(name, type, value, keyword_only, broadcasts)


_CONSTANTS = {"None": None, "True": True, "False": False, "Mean": 1, "contiguous_format": 0, "long": "long"}


def _default_value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _result_type(text: str) -> Type:
    if text == "()":
        return t.NONE
    if not (text.startswith("(") and text.endswith(")")):
        return _type_named(text)[0]
    parts = list(_parts_between_commas(text[1:-1]))
    if len(parts) == 1:
        return _result_type(parts[0])
    types, names = [], []
    for part in parts:
        named = " " in part and not part.endswith(")")
        types.append(_type_named(part.rpartition(" ")[0] if named else part)[0])
        names.append(part.rpartition(" ")[2] if named else "")
    return t.TupleType(tuple(types), fields=tuple(names) if all(names) else ())


_NAMES = {
    "Tensor": t.TENSOR, "int": t.INT, "float": t.FLOAT, "bool": t.BOOL, "str": t.STR, "Scalar": t.NUMBER, "Any": t.ANY,
    "complex": t.COMPLEX, "Device": t.DEVICE, "ScalarType": t.DTYPE, "Layout": t.LAYOUT, "NoneType": t.NONE,
    "MemoryFormat": t.MEMORY_FORMAT, "Generator": t.GENERATOR, "Stream": t.STREAM, "AnyEnumType": t.Basic("Enum"),
    "AnyClassType": t.Basic("Class"), "__torch__.torch.classes.": t.ANY, "Storage": t.Basic("Storage"),
    "AnyListType": t.Basic("AnyList"), "number": t.NUMBER, "NoReturn": t.NEVER,
}  # fmt: skip


def _type_named(text: str) -> tuple[Type, int]:
    """A type of a declaration, and the length of a list that has a fixed one, else 0."""
    text = text.strip()
    if text.endswith("?"):
        inner, broadcasts = _type_named(text[:-1])
        return t.optional(inner), broadcasts
    if text.endswith("]"):
        begin = text.rindex("[")
        return t.ListType(_type_named(text[:begin])[0]), int(text[begin + 1 : -1] or 0)
    if text.startswith("Dict("):
        key, value = _parts_between_commas(text[5:-1])
        return t.DictType(_type_named(key)[0], _type_named(value)[0]), 0
    if text.startswith("Future("):
        return t.FutureType(_type_named(text[7:-1])[0]), 0
    if text.startswith("("):
        return t.TupleType(tuple([_type_named(part)[0] for part in _parts_between_commas(text[1:-1])])), 0
    if text in _NAMES:
        return _NAMES[text], 0
    return t.Variable(text), 0
