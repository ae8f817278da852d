"""Kernels by family, at the paths of their ops in `polyad.ops`. `KERNELS` maps op names to kernels; each module has a
table of its own. Some modules have none, or several families' ops:

    indexing/checking.py    judges of values, which kernels of several families call
    linalg/matrices.py      dense matrices, which the solvers and factorizations read and write
    nn/pooling.py           ops of several families in the package `ops/nn/pooling`
"""

from __future__ import annotations

import importlib
import pkgutil

from polyad.backend import Kernel

KERNELS: dict[str, Kernel] = {}
for _found in pkgutil.walk_packages(__path__, f"{__name__}."):
    KERNELS |= getattr(importlib.import_module(_found.name), "KERNELS", {})
