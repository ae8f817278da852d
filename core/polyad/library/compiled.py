"""Libraries of ops that are compiled against PyTorch, at PyTorch's path ``polyad.ops.load_library``.

None can be loaded: they call PyTorch's own, in C++. A package may bring the ops of one in Python; it declares in the
entry-point group ``polyad.op_libraries`` the library's package and file, without endings, and a module whose
``register()``, called once, registers the ops, and returns what has to be kept for them, a `polyad.library.Library`:

    [project.entry-points."polyad.op_libraries"]
    "torchvision._C" = "polyad.vision.compiled.ops"
"""

from __future__ import annotations

import importlib
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

from ..devices.entry_points import declared
from ..errors import PolyadError

__all__ = ["GROUP", "CompiledForPyTorch", "load_library", "loaded_libraries"]

GROUP = "polyad.op_libraries"

loaded_libraries: set[str] = set()
"""The paths of libraries in whose place something was loaded."""

_registered: dict[str, Any] = {}
"""What registered the ops returned, by library."""


class CompiledForPyTorch(PolyadError, OSError):
    """A library that needs PyTorch's own, in C++."""


def load_library(path: str | PathLike[str]) -> None:
    """Register the ops of what stands in for the library at *path*.

    Raises OSError where nothing does, as PyTorch does for a library that does not fit it: programs that can do without
    go on.
    """
    file = PurePath(fspath(path))
    name = f"{file.parent.name}.{file.name.partition('.')[0].removesuffix('_stable')}"
    points = declared(GROUP).get(name)
    if not points:
        raise CompiledForPyTorch(
            f"load_library: {file} is compiled against PyTorch's C++ library, which polyad has not",
            notes={"have a stand-in": ", ".join(sorted(declared(GROUP))) or "no libraries"},
            fix="write the ops in Python, with polyad.library.custom_op",
        )
    if name not in _registered:
        _registered[name] = importlib.import_module(points[0].value).register()
    loaded_libraries.add(str(file))
