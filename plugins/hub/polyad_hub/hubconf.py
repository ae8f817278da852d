"""Entry points of a local folder: functions in its ``hubconf.py`` that give models.

That file is code, and runs: only folders on this machine are taken, whose code you have read.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from polyad.errors import ArgumentError, NotSupported

from .files import NoWeights

__all__ = ["help", "list", "load"]


def _conf(op: str, folder: str | os.PathLike[str], source: str) -> ModuleType:
    if source != "local":
        raise NotSupported(
            f"hub.{op}: source is {source!r}; code is not downloaded",
            fix='clone the repository, read its hubconf.py, and pass the folder with source="local"',
        )
    path = Path(folder) / "hubconf.py"
    if not path.is_file():
        raise NoWeights(f"hub.{op}: {folder} has no hubconf.py", fix="pass the folder of a cloned repository")
    spec = spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def _entries(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}


def _entry(op: str, module: ModuleType, model: str) -> Any:
    entries = _entries(module)
    if model not in entries:
        raise ArgumentError(f"hub.{op}: hubconf.py has no {model!r}", fix=f"pass one of {', '.join(entries) or 'none'}")
    return entries[model]


def list(github: str | os.PathLike[str], *, source: str = "local") -> builtins.list[str]:
    """The names of a folder's entry points."""
    return builtins.list(_entries(_conf("list", github, source)))


def help(github: str | os.PathLike[str], model: str, *, source: str = "local") -> str | None:
    """The docstring of an entry point."""
    doc: str | None = _entry("help", _conf("help", github, source), model).__doc__
    return doc


def load(repo_or_dir: str | os.PathLike[str], model: str, *args: Any, source: str = "local", **kwargs: Any) -> Any:
    """What an entry point gives, called with the rest.

    Raises:
        NotImplementedError: another *source* than "local": code is not downloaded.
        FileNotFoundError: no ``hubconf.py`` in the folder; ValueError: no such entry point.
    """
    return _entry("load", _conf("load", repo_or_dir, source), model)(*args, **kwargs)
