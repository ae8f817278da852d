"""Kernels by family. `KERNELS` maps op names to kernels: core's generated ones, those that devices
share (`polyad_kernels`), and what is better written for OpenCL alone, for which each module has a table of its own.
"""

from __future__ import annotations

import importlib
import pkgutil

from polyad.backend import Kernel
from polyad.codegen.kernels import generated_kernels
from polyad_kernels.kernels import KERNELS as WRITTEN

from ..source.generated import runtime_of

KERNELS: dict[str, Kernel] = {**generated_kernels(runtime_of), **WRITTEN}
for _found in pkgutil.walk_packages(__path__, f"{__name__}."):
    KERNELS |= getattr(importlib.import_module(_found.name), "KERNELS", {})
