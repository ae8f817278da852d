"""Modules under polyad's name that nobody has: importing one says what was meant, or that nothing brings it.

It is said only where a module is imported: a program that merely asks for one
(`importlib.util.find_spec`) hears None.
"""

from __future__ import annotations

import difflib
import pkgutil
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from ..errors import PolyadError

__all__ = ["UnknownModule", "find"]


class UnknownModule(PolyadError, ModuleNotFoundError):
    """A module that polyad has not, and that no installed package shows under polyad's name."""


def find(fullname: str) -> ModuleSpec | None:
    """Nothing; raises for a module of polyad's that is being imported."""
    parent, _, name = fullname.rpartition(".")
    package = sys.modules.get(parent)
    if parent.partition(".")[0] != "polyad" or package is None or not _is_importing():
        return None
    error = UnknownModule(f"{fullname}: there is no such module", fix=_advice(package, parent, name))
    error.name = fullname  # by which ``from polyad import name`` tells that it is this module that is missing
    raise error


def _is_importing() -> bool:
    """Whether Python's import system asks, and no program that only wants to know."""
    finding = sys._getframe(3)  # behind this function, `find` and the finder that asks it
    asking = finding.f_back
    return asking is not None and asking.f_code.co_name == "_find_and_load_unlocked"


def _advice(package: ModuleType, parent: str, name: str) -> str:
    inside = [module.name for module in pkgutil.iter_modules(package.__path__)]
    shown = [public for public in dir(package) if not public.startswith("_")]
    if name in shown:
        return f"{name} is no module: from {parent} import {name}"
    close = difflib.get_close_matches(name, {*inside, *shown}, 1, 0.7)
    if close:
        return f"did you mean {parent}.{close[0]}?"
    return "install the package that brings it, if there is one" if parent == "polyad" else f"see dir({parent})"
