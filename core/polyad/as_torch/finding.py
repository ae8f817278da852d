"""What ``import torch`` and questions about the distribution "torch" find while polyad stands in for PyTorch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import InspectLoader, Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder, PackagePath
from importlib.util import find_spec
from os import PathLike
from types import CodeType, ModuleType
from typing import Any

from .._version import __version__, torch_api_version

__all__ = ["Finder"]


class Finder(DistributionFinder):
    """Finds ``torch.x.y`` at ``polyad.x.y``, and polyad's version under the name "torch"."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of polyad's at the same path; None for names that are not PyTorch's, or that polyad lacks."""
        root, dot, rest = fullname.partition(".")
        if root != "torch":
            return None
        name = f"polyad{dot}{rest}"
        found = sys.modules.get(name)
        package = getattr(found, "__path__", None) is not None
        if found is None:
            spec = find_spec(name)
            if spec is None:
                return None
            package = spec.submodule_search_locations is not None
        return ModuleSpec(fullname, _SameModule(name), is_package=package)

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        """The distribution "torch", for those who ask for it or for all."""
        wanted = None if context is None else context.name
        return [_AsTorch()] if wanted is None or wanted.lower() == "torch" else []

    def invalidate_caches(self) -> None:
        """There are none."""


class _SameModule(Loader):
    """Loads a module by giving out another that exists."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """polyad's module, whose own spec importlib is about to replace."""
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        """For ``python -m torch.x``, which runs a module anew."""
        loader = getattr(find_spec(self._name), "loader", None)
        return loader.get_code(self._name) if isinstance(loader, InspectLoader) else None

    def exec_module(self, module: ModuleType) -> None:
        """It has run. Its spec is its own again."""
        module.__spec__ = self._spec


class _AsTorch(Distribution):
    """What ``importlib.metadata`` says of "torch"."""

    def read_text(self, filename: str | PathLike[str]) -> str | None:
        """The two files that say what there is."""
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {torch_api_version}\n"
            f"Summary: polyad {__version__} in place of PyTorch\n",
            "top_level.txt": "torch\n",
        }.get(str(filename))

    def locate_file(self, path: str | PathLike[str]) -> Any:
        """Where polyad lies."""
        return PackagePath(str(path))
