"""``polyad port``: programs that import torch, rewritten to import polyad."""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import json
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..compatibility.porting import Ported

__all__ = ["add_parser", "run"]

_HIDDEN = "pass#\ue000"  # before a line that is not read

DESCRIPTION = """\
Rewrite the imports of programs and notebooks so that they import polyad in place of torch, and say, line by line, what
they use that polyad has not. Folders are searched for .py and .ipynb files. Exit code 1: something is missing, or a
file could not be read.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("port", help="make programs import polyad in place of torch", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a program, a notebook or a folder")
    parser.add_argument("--undo", action="store_true", help="make them import torch again")
    parser.add_argument("--diff", action="store_true", help="print what would change, and write nothing")


def run(arguments: argparse.Namespace) -> int:
    """Rewrite the files and say what was found."""
    from ..compatibility import porting
    from ..errors import PolyadError
    from ..files import replacing

    rewrite = porting.restore if arguments.undo else porting.port
    failed = False
    for path in _files(arguments.paths):
        try:
            before, after, ported = _rewritten(path, rewrite)
        except (OSError, SyntaxError, ValueError) as error:
            print(f"{path}: cannot be read: {error}", file=sys.stderr)
            failed = True
            continue
        if arguments.diff:
            old, new = (text.decode(errors="replace").splitlines(keepends=True) for text in (before, after))
            sys.stdout.writelines(difflib.unified_diff(old, new, str(path), str(path)))
        elif ported.changed:
            try:
                with replacing(path, "port") as file:
                    file.write(after)
            except PolyadError as error:
                print(f"polyad {error}", file=sys.stderr)
                failed = True
                continue
        count = f"{ported.changed} import{'' if ported.changed == 1 else 's'}"
        print(f"{path}: {count} {'to rewrite' if arguments.diff else 'rewritten'}")
        for (name, why), lines in _lines_by_name(ported).items():
            more = f" (also in {', '.join(lines[1:])})" if lines[1:] else ""
            print(f"{path}:{lines[0]}: {name}: {why}{more}")
        failed |= any(finding.missing for finding in ported.findings)
    return int(failed)


def _lines_by_name(ported: Ported) -> dict[tuple[str, str], list[str]]:
    """The lines of each name that was found."""
    found: dict[tuple[str, str], list[str]] = {}
    for line, name, why, _ in ported.findings:
        found.setdefault((name, why), []).append(str(line))
    return found


def _files(paths: list[Path]) -> Iterator[Path]:
    """The files named, and those in folders, without hidden ones and installed packages."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for inside in sorted(path.rglob("*")):
            parts = inside.relative_to(path).parts
            hidden = any(part.startswith(".") or part == "site-packages" for part in parts)
            if inside.suffix in (".py", ".ipynb") and inside.is_file() and not hidden:
                yield inside


def _rewritten(path: Path, rewrite: Callable[[str], Ported]) -> tuple[bytes, bytes, Ported]:
    """A file's bytes, those that it should have, and what is to be said."""
    before = path.read_bytes()
    if path.suffix == ".ipynb":
        return before, *_notebook(before, rewrite)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(before).readline)
    ported = rewrite(before.decode(encoding))
    return before, ported.text.encode(encoding), ported


def _notebook(before: bytes, rewrite: Callable[[str], Ported]) -> tuple[bytes, Ported]:
    """A notebook with its cells of code rewritten, as one program; lines count over these cells."""
    notebook = json.loads(before)
    try:
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (KeyError, TypeError) as error:
        raise ValueError("it is no notebook of format 4") from error
    ported = rewrite("\n".join(map(_hidden, sources)))
    if not ported.changed:
        return before, ported
    lines = ported.text.replace(_HIDDEN, "").split("\n")
    for cell, source in zip(cells, sources, strict=True):
        count = source.count("\n") + 1
        text, lines = "\n".join(lines[:count]), lines[count:]
        cell["source"] = text.splitlines(keepends=True) if isinstance(cell["source"], list) else text
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode(), ported


def _hidden(source: str) -> str:
    """A cell with what only a notebook understands, such as %time and !pip, as comments; all of it where more is."""
    text = re.sub(r"^([ \t]*)(?=[%!])", rf"\1{_HIDDEN}", source, flags=re.MULTILINE)
    try:
        ast.parse(text)
    except SyntaxError:
        return re.sub(r"^", _HIDDEN, source, flags=re.MULTILINE)
    return text
