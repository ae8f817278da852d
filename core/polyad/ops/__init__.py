"""Every op and public tensor function, by family.

Each module declares its ops (see `polyad.dispatch.op`); importing this package declares them all and attaches to Tensor
the methods, in-place forms and operators that follow from the declarations.
"""

from __future__ import annotations

import importlib
import pkgutil

from ..backend.families import set_families
from ..dispatch.catalogue import OPS
from .declaring.attach import attach_methods

for _found in pkgutil.walk_packages(__path__, f"{__name__}."):
    if not _found.name.endswith(".stubs"):
        importlib.import_module(_found.name)

attach_methods()
set_families({op.name: op.module.removeprefix(f"{__name__}.") for op in OPS.loaded()})
