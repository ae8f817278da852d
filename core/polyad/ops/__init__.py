"""Every op and public tensor function, by family.

Each module declares its ops (see `polyad.dispatch.op`). None is loaded before one of its names is wanted:
declared_names.py, which is written from the declarations, says which module declares what.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

from .. import lowering as lowering  # plans ask it for kernels
from ..backend.families import note_op, set_families
from ..compatibility.moved import MOVED, missing
from ..dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from . import declared_names
from .declaring.attach import attach


def _by_name(table: Mapping[str, str], prefix: str = f"{__name__}.") -> dict[str, str]:
    return {name: prefix + module for module, names in table.items() for name in names.split()}


set_families(_by_name(declared_names.OPS, ""))
OPS.on_new(note_op)
OPS.index(_by_name(declared_names.OPS))
PUBLIC.index(_by_name(declared_names.FUNCTIONS))
ATTRIBUTES.index(_by_name(declared_names.ATTRIBUTES))
attach(ATTRIBUTES.names())

_OF_TESTS = frozenset({"setUpModule", "setup_module", "tearDownModule", "teardown_module"})
"""What runners of tests ask any module for, as Python does for names such as ``__path__``: no namespaces of ops."""


def __getattr__(name: str) -> Any:
    if name in ("aten", "polyad"):  # PyTorch's ops, and those of polyad's that PyTorch has not
        return importlib.import_module("polyad.aten.overloads").NAMESPACES[name]
    if name in ("load_library", "loaded_libraries"):
        return getattr(importlib.import_module("polyad.library.compiled"), name)
    path = f"{__name__}.{name}"
    if name.startswith(("__", "pytest")) or name in _OF_TESTS:
        raise missing(__name__, name)
    shown = sys.modules.get("polyad.library.spaces")
    if path in MOVED and not (shown and name in shown.NAMESPACES):
        raise missing(__name__, name)
    if path not in MOVED and importlib.util.find_spec(path) is not None:
        return importlib.import_module(path)
    # Of the user's ops: there is one for any name, empty until something is defined.
    return importlib.import_module("polyad.library.spaces").namespace(name)
