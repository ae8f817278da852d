"""Packages that an extra of polyad's brings, such as Pillow with ``polyad[vision]``: imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import PackageMissing

__all__ = ["needed"]


def needed(module: str, extra: str, what: str) -> Any:
    """The module of another package; *what* says in an error what it is needed for: "save: files are packed by x".

    Raises:
        ImportError (PackageMissing): it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise PackageMissing(f"{what}, which is not installed", fix=f"pip install 'polyad[{extra}]'") from error
