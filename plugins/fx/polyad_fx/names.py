"""How functions and values are called in generated code, and how the nodes of a graph get their names."""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
import typing
from collections import defaultdict
from functools import cache
from types import BuiltinFunctionType, BuiltinMethodType, ModuleType
from typing import Any, NamedTuple

import polyad
from polyad.utils import _pytree

from . import _pytree as fx_pytree

__all__ = ["CUSTOM_BUILTINS", "Namespace", "is_magic", "is_of_torch", "qualified_name", "snake_case", "type_repr"]


class CustomBuiltin(NamedTuple):
    """A name that generated code may use without being told: what brings it, and what it is."""

    import_line: str
    value: Any


CUSTOM_BUILTINS: dict[str, CustomBuiltin] = {
    "inf": CustomBuiltin("from math import inf", math.inf),
    "nan": CustomBuiltin("from math import nan", math.nan),
    "NoneType": CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": CustomBuiltin("import polyad as torch", polyad),
    "device": CustomBuiltin("from polyad import device", polyad.device),
    "fx_pytree": CustomBuiltin("import polyad.fx._pytree as fx_pytree", fx_pytree),
    "pytree": CustomBuiltin("import polyad.utils._pytree as pytree", _pytree),
}

_PARTED = re.compile(r"(.*)_(\d+)$")
_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")


class Namespace:
    """Names that are each given once."""

    def __init__(self) -> None:
        self._taken: dict[str, Any] = {}
        self._by_object: dict[int, str] = {}
        self._last: defaultdict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any) -> str:
        """*candidate*, or the nearest name after it that is free; *obj*, unless it is None, keeps its name."""
        if obj is not None and id(obj) in self._by_object:
            return self._by_object[id(obj)]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        parted = _PARTED.match(candidate)
        base, number = (parted[1], int(parted[2])) if parted else (candidate, 0)
        number = number or self._last[base]
        if not parted and number:
            candidate = f"{base}_{number}"
        while candidate in self._taken or self._is_reserved(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._last[base] = number
        self._taken[candidate] = obj
        if obj is not None:
            self._by_object[id(obj)] = candidate
        return candidate

    def forget(self, obj: Any) -> None:
        """Let go of an object, whose name stays taken."""
        self._by_object.pop(id(obj), None)

    @staticmethod
    def _is_reserved(name: str, obj: Any) -> bool:
        if keyword.iskeyword(name):
            return True
        if name in vars(builtins):
            return obj is not vars(builtins)[name]
        return name in CUSTOM_BUILTINS and obj is not CUSTOM_BUILTINS[name].value


def snake_case(name: str) -> str:
    """``BatchNorm2d`` as ``batch_norm2d``.

    >>> from polyad.fx.names import snake_case
    >>> snake_case("BatchNorm2d"), snake_case("ReLU")
    ('batch_norm2d', 're_lu')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def is_magic(name: str) -> bool:
    """Whether *name* is one of Python's, such as ``__add__``."""
    return name.startswith("__") and name.endswith("__")


def is_of_torch(obj: Any) -> bool:
    """Whether *obj* is polyad's, so that generated code reaches it as ``torch.<path>``."""
    if isinstance(obj, ModuleType):
        return obj is polyad or obj.__name__.startswith("polyad.")
    module = getattr(obj, "__module__", None)
    if isinstance(module, str):
        return module == "polyad" or module.startswith("polyad.")
    return False


def qualified_name(func: Any) -> str:
    """The path by which generated code reaches a function or class: ``torch.nn.functional.relu``, ``_operator.add``.

    >>> import polyad as torch
    >>> from polyad.fx.names import qualified_name
    >>> qualified_name(torch.nn.functional.gelu), qualified_name(len)
    ('torch.nn.functional.gelu', 'len')
    """
    name = getattr(func, "__name__", None)
    if name is not None and getattr(builtins, name, None) is func:
        return str(name)
    if is_of_torch(func):
        return f"torch.{_public_path(func)}"
    if isinstance(func, (BuiltinMethodType, BuiltinFunctionType)) and isinstance(func.__self__, type):
        return f"{func.__self__.__module__}.{func.__self__.__qualname__}.{name}"
    if name == "<lambda>":
        name = getattr(func, "__qualname__", name).rpartition(".")[2]
    if name is None:
        name = type(func).__name__
    module = getattr(func, "__module__", None) or "builtins"
    return f"{'_operator' if getattr(operator, name, None) is func else module}.{name}"


@cache
def _public_path(obj: Any) -> str:
    """Where users find something of polyad's, without ``polyad.``."""
    name = str(getattr(obj, "__qualname__", None) or getattr(obj, "__name__", type(obj).__name__))
    if _reached(name) is obj:
        return name
    found = polyad.overrides.resolve_name(obj) if callable(obj) and not isinstance(obj, type) else None
    if found is not None and _reached(found.removeprefix("polyad.")) is obj:
        return found.removeprefix("polyad.")
    module = obj.__module__.removeprefix("polyad").removeprefix(".")
    paths = [f"{module}.{name}" if module else name]
    for end in range(len(module.split(".")) + 1) if module else ():
        paths.append(".".join([*module.split(".")[:end], name]))
    for path in sorted(set(paths), key=len):
        if _reached(path) is obj:
            return path
    return paths[0]


def _reached(path: str) -> Any:
    found: Any = polyad
    for name in path.split("."):
        found = getattr(found, name, None)
        if found is None:
            return None
    return found


def type_repr(obj: Any) -> str:
    """A type as annotations write it."""
    if isinstance(obj, type) and not typing.get_origin(obj):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return qualified_name(obj) if is_of_torch(obj) else f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if callable(obj) and hasattr(obj, "__name__") and not typing.get_origin(obj) else repr(obj)
