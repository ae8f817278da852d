"""What the decorators of `jit` leave on a function: `export`, `ignore`, `unused` and their like."""

from __future__ import annotations

from typing import Any

__all__ = ["MARK", "mark_of"]

MARK = "_torchscript_modifier"


def mark_of(function: Any) -> str | None:
    """The mark: export, ignore or unused; None of what has none."""
    function = getattr(function, "__func__", function)
    if isinstance(function, property):
        function = function.fget
    return getattr(function, MARK, None)
