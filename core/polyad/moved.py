"""Modules that have been elsewhere: importing one by its old path says where it is now.

Nothing is loaded in their place: a program that uses an old path fails, once, with the line that mends it. The finder
stands behind all others, so it is asked only about modules that nobody has found.

To move a module that others may import, move it and add a row; when the old path is used again, delete the row.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from .errors import PolyadError

__all__ = ["MOVED", "ModuleMoved"]

MOVED: dict[str, str] = {
    "polyad.autograd.levels": "polyad.autograd.entries",
    "polyad.backends.doctor": "polyad.diagnosis.doctor",
    "polyad.backends.listing": "polyad.diagnosis.listing",
    "polyad.backends.screen": "polyad.diagnosis.screen",
    "polyad.batching.level": "polyad.batching.vmap_level",
    "polyad.expansions": "polyad.tables.special",
    **{
        f"polyad.nn.{name}": f"polyad.nn.modules.{name}"
        for name in (
            "activation",
            "batchnorm",
            "container",
            "conv",
            "dropout",
            "flatten",
            "linear",
            "loss",
            "module",
            "normalization",
            "pooling",
            "sparse",
        )
    },
}
"""The path of today by the path of before; of a package that moved as a whole, the package alone."""


class ModuleMoved(PolyadError, ModuleNotFoundError):
    """A module that is not at this path any more. Has no ``name``, since then ``from package import module`` would
    leave it out and say only that it cannot import the name.
    """


class _Finder:
    """Finds nothing; raises for a path that is in `MOVED`."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname in MOVED:
            raise ModuleMoved(f"{fullname} moved: import it from {MOVED[fullname]}")
        return None


def watch() -> None:
    """Be asked about every module that is not found, from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
