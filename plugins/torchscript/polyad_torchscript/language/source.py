"""Where a program is from: text, lines, carets, and the errors that show them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any

from polyad.errors import PolyadError

__all__ = [
    "CompileError",
    "Place",
    "Source",
    "UnsupportedError",
    "function_source",
    "parsed",
    "place_of",
    "source_of",
    "types_of_comment",
]


@dataclass(frozen=True, eq=False)
class Source:
    """The text of a function or a file.

    Attributes:
        file: its name.
        first: the number of its first line in the file.
        indent: how many columns were taken away.
    """

    text: str
    file: str = "<script>"
    first: int = 1
    indent: int = 0
    lines: list[str] = field(default_factory=list)

    def place(self, node: Any) -> Place:
        """The place of a node of Python's tree."""
        line = getattr(node, "lineno", 1)
        return Place(
            self,
            line,
            getattr(node, "col_offset", 0),
            getattr(node, "end_lineno", line),
            getattr(node, "end_col_offset", 0),
        )


@dataclass(frozen=True, eq=False)
class Place:
    """A part of a source: lines and columns, from 1 and from 0."""

    source: Source
    line: int = 1
    column: int = 0
    end_line: int | None = None
    end_column: int | None = None

    @property
    def file_line(self) -> int:
        """The line in the file."""
        return self.line + self.source.first - 1

    def __str__(self) -> str:
        return f"{self.source.file}:{self.file_line}"

    def shown(self) -> str:
        """The line with a caret under the part that is meant."""
        lines = self.source.text.splitlines()
        if not 0 < self.line <= len(lines):
            return ""
        text = lines[self.line - 1]
        prefix = text.encode()[: self.column].decode(errors="replace")
        end = self.end_column if self.end_line == self.line and self.end_column else len(text)
        width = max(1, len(text.encode()[self.column : end].decode(errors="replace")))
        return f"{text}\n{' ' * len(prefix)}{'~' * width} <--- HERE"


class CompileError(PolyadError, RuntimeError):
    """A program that TorchScript has no meaning for: a wrong type, a name that is not there, what the language lacks.

    The message shows the file, the line and a caret.
    """

    def __init__(self, message: str, place: Place | None = None, *, fix: str | None = None, **kwargs: Any) -> None:
        super().__init__(message, fix=fix, **kwargs)
        self.place = place

    def __str__(self) -> str:
        text = super().__str__()
        if self.place is None:
            return text
        shown = textwrap.indent(self.place.shown(), "    ")
        return f"{text}\n  at {self.place}\n{shown}"


class UnsupportedError(CompileError, NotImplementedError):
    """What Python has and TorchScript has not."""


def source_of(function: Any) -> tuple[Source, ast.FunctionDef | ast.ClassDef]:
    """The source of a function or a class with Python's tree of it.

    Raises CompileError where the source cannot be read, or is no function.
    """
    name = getattr(function, "__qualname__", repr(function))
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "<unknown>"
    except (OSError, TypeError) as error:
        raise CompileError(
            f"script: the source of {name} cannot be read: {error}",
            fix="define it in a file; for a function made by exec or a C extension, mark its caller with jit.ignore",
        ) from None
    text = "".join(lines)
    indent = len(lines[0]) - len(lines[0].lstrip())
    source = Source(_dedented(lines, indent), file, max(first, 1), indent)
    try:
        tree = parsed(source.text)
    except SyntaxError as error:
        raise CompileError(
            f"script: the source of {name} is no whole statement: {error.msg}",
            fix="define it by def, each on lines of its own",
        ) from None
    found = tree.body[0]
    if not isinstance(found, (ast.FunctionDef, ast.ClassDef)):
        raise UnsupportedError(
            f"script: {name} is no function that is defined by def: expected a single top-level function",
            Source(text, file, first).place(found),
            fix="write lambdas and coroutines as functions",
        )
    return source, found


def place_of(function: Any) -> Place:
    """Where a function begins, as far as Python knows."""
    code = function.__code__
    return Place(Source("", code.co_filename, code.co_firstlineno))


def function_source(function: Any) -> tuple[Source, ast.FunctionDef]:
    """The source of a function with Python's tree of it; raises as `source_of`."""
    source, node = source_of(function)
    if not isinstance(node, ast.FunctionDef):
        raise UnsupportedError(f"script: {node.name} is a class where a function is wanted", source.place(node))
    return source, node


def parsed(text: str) -> ast.Module:
    """Python's tree of *text*, with type comments where these can be read."""
    try:
        return ast.parse(text, type_comments=True)
    except SyntaxError:
        return ast.parse(text)


def types_of_comment(node: ast.FunctionDef, place: Place) -> tuple[list[ast.expr], ast.expr | None] | None:
    """The types of the arguments and of the result that the comment ``# type: (int) -> int`` says, None without one.

    The result may be left out.
    """
    if node.type_comment is None:
        return None
    has_result = "->" in node.type_comment
    try:
        found = ast.parse(node.type_comment + ("" if has_result else " -> None"), mode="func_type")
    except SyntaxError:
        raise CompileError(f"script: the type comment of {node.name} cannot be read: {node.type_comment}", place,
                           fix="write # type: (int, Tensor) -> Tensor") from None  # fmt: skip
    return found.argtypes, found.returns if has_result else None


def _dedented(lines: list[str], indent: int) -> str:
    """The lines without *indent* columns; lines within strings may have less."""
    return "".join([line[indent:] if not line[:indent].strip() else line.lstrip() for line in lines])
