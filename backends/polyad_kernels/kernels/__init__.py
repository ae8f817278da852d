"""Kernels by family. `KERNELS` maps op names to kernels; each module has a table of its own."""

from __future__ import annotations

import importlib
import pkgutil

from polyad.backend import Kernel

KERNELS: dict[str, Kernel] = {}
for _found in pkgutil.walk_packages(__path__, f"{__name__}."):
    KERNELS |= getattr(importlib.import_module(_found.name), "KERNELS", {})
