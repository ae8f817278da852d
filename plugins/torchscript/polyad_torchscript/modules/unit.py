"""`CompilationUnit`: functions that are given as text."""

from __future__ import annotations

import builtins
import sys
import textwrap
from typing import Any

from .functions import ScriptFunction
from .texts import TextUnit

__all__ = ["CompilationUnit"]


class CompilationUnit:
    r"""Functions of a text, each an attribute by its name.

    Args:
        lang: the text, or nothing.

    Raises CompileError for text that breaks TorchScript's rules.

    >>> import polyad
    >>> unit = polyad.jit.CompilationUnit("def twice(x: int) -> int:\n    return x * 2")
    >>> unit.twice(3)
    6
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        frame = sys._getframe(_frames_up + 1)
        names = {**frame.f_globals, **frame.f_locals}
        self._unit = TextUnit(resolver=lambda name: names.get(name, getattr(builtins, name, None)))
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Take over the functions of a text."""
        if rcb is not None:
            self._unit.outer = rcb
        for name in self._unit.define(textwrap.dedent(lang)):
            if name in self._unit.functions:
                self._unit.functions[name].compile()

    def find_function(self, name: str) -> ScriptFunction | None:
        """The function of that name."""
        return self._unit.functions.get(name)

    def get_functions(self) -> list[ScriptFunction]:
        """All functions."""
        return list(self._unit.functions.values())

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") and "_unit" not in self.__dict__ else self._unit.functions.get(name)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return found
