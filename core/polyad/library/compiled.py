"""Libraries of ops that are compiled against PyTorch, at PyTorch's path ``polyad.ops.load_library``."""

from __future__ import annotations

from os import PathLike, fspath
from typing import NoReturn

from ..errors import PolyadError

__all__ = ["CompiledForPyTorch", "load_library"]


class CompiledForPyTorch(PolyadError, OSError):
    """A library that needs PyTorch's own, in C++."""


def load_library(path: str | PathLike[str]) -> NoReturn:
    """Raises OSError, as PyTorch does for a library that does not fit it: programs that can do without go on."""
    raise CompiledForPyTorch(
        f"load_library: {fspath(path)} is compiled against PyTorch's C++ library, which polyad has not",
        fix="write the ops in Python, with polyad.library.custom_op",
    )
