"""Modules that Python's finders have not found: functions here are asked about them, one after the other.

To answer for such modules, write ``find(fullname)``, which gives a module's spec, raises, or gives None, and name it
where `polyad` calls `ask`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["ask"]

_asked: list[Callable[[str], ModuleSpec | None]] = []


class _Finder:
    """Stands behind all other finders."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        for find in _asked:
            spec = find(fullname)
            if spec is not None:
                return spec
        return None


def ask(*finds: Callable[[str], ModuleSpec | None]) -> None:
    """Ask each of *finds* about every module that is not found, from now on."""
    _asked[:] = finds
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
