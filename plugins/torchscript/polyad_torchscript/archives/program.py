"""A program as text and objects: what an archive holds, before it is a file or a module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from polyad.tensor import Tensor

from .objects import ScriptObject

__all__ = ["Program"]


@dataclass
class Program:
    """A module, its classes as text, and the tensors that the text names.

    Attributes:
        sources: the text of each of the program's modules, ``__torch__.net``.
        root: the module.
        constants: what the text names ``CONSTANTS.c0``, ``CONSTANTS.c1``, ...
        name: what errors call it.
        version: of the archive's format, which says what some operators do.
    """

    sources: dict[str, str]
    root: ScriptObject
    constants: list[Tensor | Any] = field(default_factory=list)
    name: str = "<program>"
    version: int = 10
