"""Schemas as PyTorch writes them: ``mylib::scale(Tensor x, float factor=1.0, *, int[2]? size=None) -> Tensor``.

The grammar is PyTorch's, of aten/src/ATen/native/README.md: types with ``?``, ``[]``, ``[N]``, what an argument aliases
(``Tensor(a!)``: it is written into), defaults, ``*`` before arguments by name alone. To allow another type, add it to
`_TYPES`.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import re
from typing import Any, NoReturn

from ..errors import ArgumentError
from .schema import Argument, Schema

__all__ = ["SchemaError", "parse_schema"]

_TYPES = frozenset(
    {"Tensor", "int", "SymInt", "float", "bool", "complex", "str", "Scalar"}
    | {"ScalarType", "Layout", "MemoryFormat", "Device", "Generator", "Dimname"}
)
_NAME = r"[A-Za-z_]\w*(?:::\w+|\.\w+)*"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TOKEN = re.compile(rf"""\s*(->|{_NAME}|{_NUMBER}|'[^']*'|"[^"]*"|\S)""")
_WORDS = {"None": None, "True": True, "False": False, "true": True, "false": False, "Mean": 1, "long": "int64"}


class SchemaError(ArgumentError, RuntimeError):
    """A schema that cannot be read; RuntimeError as in PyTorch, and ValueError."""


class _Reader:
    """A schema's text, token by token."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.tokens = [(match.group(1), match.start(1)) for match in _TOKEN.finditer(text)]

    def peek(self) -> str:
        """The next token, "" at the end."""
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        """The next token, which must be *wanted*."""
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            self.refuse(f"expected {wanted or 'more'}, found {token or 'its end'}")
        self.place += 1
        return token

    def takes(self, token: str) -> bool:
        """Whether the next token is *token*, which is taken then."""
        found = self.peek() == token
        self.place += found
        return found

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error that shows the place."""
        column = self.tokens[self.place][1] if self.place < len(self.tokens) else len(self.text)
        raise SchemaError(
            f"schema: {problem} at column {column}",
            notes={"schema": self.text, "here": " " * column + "^"},
            fix='write it like "scale(Tensor x, float factor=1.0) -> Tensor"',
        )


def parse_schema(text: str) -> Schema:
    """The schema that *text* says. Raises SchemaError, a RuntimeError and ValueError, with the place of what is wrong.

    >>> print(parse_schema("mylib::add.out(Tensor a, Scalar b=2, *, Tensor(a!) out) -> Tensor(a!)"))
    mylib::add.out(Tensor a, Scalar b=2, *, Tensor(a!) out) -> Tensor(a!)
    >>> parse_schema("f(Tensor x")
    Traceback (most recent call last):
        ...
    polyad.library.parsing.SchemaError: schema: expected ,, found its end at column 10
        schema  f(Tensor x
        here              ^
        fix     write it like "scale(Tensor x, float factor=1.0) -> Tensor"
    """
    reader = _Reader(text)
    name = "" if reader.peek() == "(" else reader.take()
    if name and not re.fullmatch(r"(\w+::)?\w+(\.\w+)?", name):
        reader.place -= 1
        reader.refuse(f"{name} is no name of an op")
    arguments = _arguments(reader)
    reader.take("->")
    several = reader.peek() == "("
    returns = tuple(_results(reader) if several else [_result(reader)])
    if reader.peek():
        reader.refuse(f"expected its end, found {reader.peek()}")
    by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter(one.name, by_name if one.keyword_only else by_place, default=one.default)
            for one in arguments
        ],
        __validate_parameters__=False,  # PyTorch's may have an argument without default behind one that has one
    )
    name, _, overload = name.partition(".")
    return Schema(tuple(arguments), returns, several, signature, name=name, overload_name=overload)


def _arguments(reader: _Reader) -> list[Argument]:
    """What stands between the parentheses."""
    reader.take("(")
    found: list[Argument] = []
    by_name = False
    while not reader.takes(")"):
        if found or by_name:
            reader.take(",")
        if not by_name and reader.takes("*"):
            by_name = True
            continue
        type_, alias = _read_type(reader)
        name = reader.take()
        if not name.isidentifier() or keyword.iskeyword(name) or name in {one.name for one in found}:
            reader.place -= 1
            reader.refuse(f"{name} is no name of an argument, or stands there twice")
        default = _default(reader, type_) if reader.takes("=") else inspect.Parameter.empty
        found.append(Argument(name, type_, by_name, alias.endswith("!"), alias, default))
    return found


def _read_type(reader: _Reader) -> tuple[str, str]:
    """A type as schemas write it, and what it aliases, "" if nothing."""
    type_ = reader.take()
    if type_ not in _TYPES:
        reader.place -= 1
        reader.refuse(f"{type_} is no type; types are {', '.join(sorted(_TYPES))}")
    alias = ""
    if reader.takes("("):
        while not reader.takes(")"):
            alias += reader.take()
    while reader.peek() in ("?", "["):
        if reader.takes("?"):
            type_ += "?"
        else:
            reader.take("[")
            length = "" if reader.peek() == "]" else reader.take()
            if not (length == "" or length.isdecimal()):
                reader.place -= 1
                reader.refuse(f"{length} is no length")
            reader.take("]")
            type_ += f"[{length}]"
    return type_, alias


def _default(reader: _Reader, type_: str) -> Any:
    """The value behind ``=``."""
    if reader.takes("["):
        values: list[Any] = []
        while not reader.takes("]"):
            if values:
                reader.take(",")
            values.append(_default(reader, type_.partition("[")[0]))
        return values
    token = reader.take()
    if token in _WORDS:
        return _WORDS[token]
    if token[0] in "'\"" or token[-1].isdigit() or token[-1] == ".":
        value = ast.literal_eval(token)
        return float(value) if type_.startswith("float") else value
    if re.fullmatch(r"[a-z_]\w*", token):  # contiguous_format, and its like
        return token
    reader.place -= 1
    return reader.refuse(f"{token} is no value")


def _result(reader: _Reader) -> Argument:
    type_, alias = _read_type(reader)
    name = reader.take() if reader.peek().isidentifier() else ""
    return Argument(name, type_, False, alias.endswith("!"), alias)


def _results(reader: _Reader) -> list[Argument]:
    """The results in parentheses."""
    reader.take("(")
    found: list[Argument] = []
    while not reader.takes(")"):
        if found:
            reader.take(",")
        found.append(_result(reader))
    return found
