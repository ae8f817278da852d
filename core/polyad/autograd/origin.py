"""Where in the user's program a node was recorded: the line, and the path of the module at work.

Walking the stack at each op costs more than a small op, so it is done only while a diagnosis is on (anomaly mode,
`polyad.detect_nonfinite`). The modules are found on the stack too: `nn.Module` does nothing for it.
"""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import Any, NamedTuple

from ..base.state import is_ours
from ..errors import PolyadError
from ..history.node import Node, watchers

_KEY = "forward"


class Origin(NamedTuple):
    """Where a node comes from.

    Attributes:
        file, line, function: the innermost place outside polyad; the file with its folders.
        module: path and description of the innermost module, such as ``model.1 (Linear 4 -> 2)``; may be empty.
    """

    file: str
    line: int
    function: str
    module: str

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f"{self.file.rpartition('/')[2]}:{self.line}" + (f": {text}" if text else "")


def here() -> Origin:
    """Where the program is."""
    frame: FrameType | None = sys._getframe(1)
    place: tuple[str, int, str] = ("", 0, "")
    modules: list[Any] = []
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == "polyad.nn.modules.module" and frame.f_code.co_name == "__call__":
            modules.append(frame.f_locals["self"])
        elif not place[0] and not is_ours(name):
            place = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return Origin(*place, _path(modules))


def _path(modules: list[Any]) -> str:
    """The path of modules found on the stack, the innermost first, as errors write it."""
    if not modules:
        return ""
    names = ["model"]
    for inner, outer in zip(reversed(modules[:-1]), reversed(modules[1:]), strict=True):
        if inner is outer:
            continue
        # Not a member of the module that called it: its type is its name.
        names.append(next((name for name, module in outer.named_modules() if module is inner), type(inner).__name__))
    return f"{'.'.join(names)} ({modules[0]._describe()})"


def _note(node: Node) -> None:
    node.metadata[_KEY] = here()


def watch() -> None:
    """Note from now on where nodes of all threads come from."""
    watchers.append(_note)


def unwatch() -> None:
    """Undo a `watch`."""
    watchers.remove(_note)


def origin_of(node: Node) -> Origin | None:
    """Where *node* was recorded, if that was watched."""
    found = getattr(node, "_metadata", None)
    return None if found is None else found.get(_KEY)


def notes_of(node: Node) -> dict[str, str]:
    """Lines for an error message about *node*: the forward line and the module, as far as they are known."""
    origin = origin_of(node)
    if origin is None:
        return {}
    notes = {"forward": str(origin)}
    if origin.module:
        notes["in"] = origin.module
    return notes


def add_origin(error: BaseException, node: Node) -> None:
    """Say in *error*, which running *node* raised, where the node comes from; does nothing if that is not known."""
    notes = notes_of(node)
    if not notes:
        return
    if isinstance(error, PolyadError):
        if "saved by" in error.lines:
            del notes["forward"]
        for name, text in notes.items():
            error.lines.setdefault(name, text)
    else:
        error.add_note(f"in the backward of {node.name()}")
        for name, text in notes.items():
            error.add_note(f"    {name:<7}  {text}")
