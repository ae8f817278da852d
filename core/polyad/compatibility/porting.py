"""Programs that import torch, rewritten so that they import polyad, and back.

`import torch` becomes `import polyad as torch`, so the rest of a program keeps its words. Only the names of modules in
import statements change: comments, blank lines and everything else stay as they are, and `restore` finds every
statement that `port` wrote.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import NamedTuple

from .absent import ABSENT

__all__ = ["Finding", "Ported", "port", "restore"]


class Finding(NamedTuple):
    """What a person must look at: a line, the name there, and why."""

    line: int
    name: str
    why: str
    missing: bool = True


class Ported(NamedTuple):
    """A rewritten program: its text, how many names of modules changed, and what it uses that polyad has not."""

    text: str
    changed: int
    findings: list[Finding]


class _Edit(NamedTuple):
    """Bytes of one line of the source that become others; lines count from 1."""

    line: int
    begin: int
    end: int
    text: str


def port(text: str) -> Ported:
    r"""Make a program that imports torch import polyad.

    Args:
        text: the source of a Python program.

    Raises SyntaxError for what Python cannot parse.

    >>> port("import torch.nn as nn\nmodel = nn.Linear(2, 1)").text
    'import polyad.nn as nn\nmodel = nn.Linear(2, 1)'
    """
    tree = ast.parse(text)
    return Ported(*_edited(tree, text, "torch"), sorted(_findings(tree)))


def restore(text: str) -> Ported:
    r"""Make a program that `port` has written import torch again.

    Raises SyntaxError for what Python cannot parse.

    >>> restore("import polyad as torch\n").text
    'import torch\n'
    """
    return Ported(*_edited(ast.parse(text), text, "polyad"), [])


# ------------------------------------------------------------------------------------------------------ rewriting


def _edited(tree: ast.AST, text: str, root: str) -> tuple[str, int]:
    """The text with the import statements that name *root* or a module in it changed, and how many changes that are."""
    lines = [line.encode() for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)]  # as Python counts
    edits = sorted(_edits(tree, lines, root), reverse=True)
    for number, begin, end, new in edits:
        line = lines[number - 1]
        lines[number - 1] = line[:begin] + new.encode() + line[end:]
    return b"".join(lines).decode(), len(edits)


def _edits(tree: ast.AST, lines: Sequence[bytes], root: str) -> Iterator[_Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_in(node.module, root):
            yield _module_of(node, lines, root)
        elif isinstance(node, ast.Import):
            yield from _ported(node.names) if root == "torch" else _restored(node.names)


def _ported(names: Sequence[ast.alias]) -> Iterator[_Edit]:
    for alias in names:
        if not _is_in(alias.name, "torch"):
            continue
        new = "polyad" + alias.name.removeprefix("torch")
        if alias.asname:
            new += f" as {alias.asname}"
        else:  # import torch.a loads the module, and gives the name torch
            new = "polyad as torch" + (f", {new}" if "." in alias.name else "")
        yield _Edit(alias.lineno, alias.col_offset, alias.end_col_offset or 0, new)


def _restored(names: Sequence[ast.alias]) -> Iterator[_Edit]:
    rest = list(names)
    while rest:
        alias, end = rest.pop(0), None
        if alias.name == "polyad" and alias.asname == "torch":
            end = alias
            if rest and rest[0].name.startswith("polyad.") and not rest[0].asname and rest[0].lineno == alias.lineno:
                end = rest.pop(0)
            new = end.name.replace("polyad", "torch", 1)
        elif _is_in(alias.name, "polyad") and alias.asname:
            end, new = alias, f"{alias.name.replace('polyad', 'torch', 1)} as {alias.asname}"
        if end is not None:
            yield _Edit(alias.lineno, alias.col_offset, end.end_col_offset or 0, new)


def _module_of(node: ast.ImportFrom, lines: Sequence[bytes], root: str) -> _Edit:
    """The name of the module in a ``from`` statement, which the tree has no place of."""
    begin, old = node.col_offset + len("from"), root.encode()
    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        at = lines[number - 1].find(old, begin)
        if at >= 0:
            break
        begin = 0
    return _Edit(number, at, at + len(old), "polyad" if root == "torch" else "torch")


def _is_in(module: str | None, root: str) -> bool:
    return module is not None and (module == root or module.startswith(f"{root}."))


# ------------------------------------------------------------------------------------------------ what is not there


def _findings(tree: ast.AST) -> set[Finding]:
    """Names that polyad has not, and names of torch in strings that are given to calls."""
    names = dict(_imported(tree))
    for node in ast.walk(tree):  # a name that means something else somewhere says nothing
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.pop(node.id, None)
        elif isinstance(node, ast.arg):
            names.pop(node.arg, None)
    found = set()
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for path in _named_paths(node, names):
            why = _lack(path)
            if why:
                found.add(Finding(line, f"torch.{path}", why))
        if isinstance(node, ast.Call):
            for given in node.args[:1]:
                if isinstance(given, ast.Constant) and re.fullmatch(r"torch(\.\w+)*", str(given.value)):
                    found.add(Finding(line, repr(given.value), "a name in a string is left as it is", False))
        for package in _packages(node):
            if _imports_torch(package):
                why = "imports torch itself: call polyad.as_torch.install() first, or use polyad as-torch"
                found.add(Finding(line, package, why, False))
    return found


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that imports give, with the path behind ``torch.`` of what each is."""
    for node in ast.walk(tree):
        for alias, path in _imports_of_torch(node):
            if isinstance(node, ast.Import) and not alias.asname:  # import torch.a gives the name torch
                yield "torch", ""
            else:
                yield alias.asname or alias.name, path


def _imports_of_torch(node: ast.AST) -> Iterator[tuple[ast.alias, str]]:
    """What a statement imports of torch, with the path behind ``torch.`` of each."""
    if isinstance(node, ast.Import):
        found = ((alias, alias.name) for alias in node.names if _is_in(alias.name, "torch"))
    elif isinstance(node, ast.ImportFrom) and not node.level and _is_in(node.module, "torch"):
        found = ((alias, f"{node.module}.{alias.name}") for alias in node.names)
    else:
        return
    yield from ((alias, path.partition(".")[2]) for alias, path in found)


def _named_paths(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """The paths of PyTorch's that a node of the tree names: in an import, or as attributes of what was imported."""
    yield from (path for alias, path in _imports_of_torch(node) if path and alias.name != "*")
    if isinstance(node, ast.Attribute):
        parts = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in names:
            yield ".".join([*filter(None, [names[inner.id]]), *reversed(parts)])


def _packages(node: ast.AST) -> Iterator[str]:
    """The packages that a statement imports from."""
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module.partition(".")[0]


@cache
def _imports_torch(package: str) -> bool:
    """Whether an installed package says that it needs PyTorch."""
    for name in metadata.packages_distributions().get(package, ()):
        if any(re.match(r"torch\b(?!.*extra)", need) for need in metadata.requires(name) or ()):
            return package not in ("torch", "polyad")
    return False


@cache
def _lack(path: str) -> str | None:
    """Why polyad has nothing at a path behind ``torch.``; None if it has, or if nobody can say."""
    found: object = importlib.import_module("polyad")
    parts = path.split(".")
    for end, name in enumerate(parts, 1):
        here = ".".join(parts[:end])
        if here in ABSENT:
            reason, instead = ABSENT[here]
            return f"{reason}; use {instead}"
        try:
            found = inspect.getattr_static(found, name) if isinstance(found, type) else getattr(found, name)
        except AttributeError:
            try:
                found = importlib.import_module(f"polyad.{here}")
            except ImportError:
                return "polyad has no such name"
        if not isinstance(found, (ModuleType, type)):
            return None
    return None
