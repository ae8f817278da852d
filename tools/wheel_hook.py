"""Puts kernels that were compiled before into a wheel, if POLYAD_KERNELS_AHEAD names the folder with them.

Such a wheel is for this platform; without the variable it is for all.
"""

from __future__ import annotations

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsAhead(BuildHookInterface[Any]):
    """The hook that pyproject.toml names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("POLYAD_KERNELS_AHEAD")
        if not folder or version == "editable":
            return
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"POLYAD_KERNELS_AHEAD names {folder!r}, which is no folder")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][folder] = "polyad_native/ahead"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
