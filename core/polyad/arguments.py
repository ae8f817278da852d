"""How public functions and classes are made to say what is wrong with their arguments: declared once for each module.

A module of functions ends with ``explain(globals())``, a base class derives from `Explained`. Nothing else is written:
what the arguments must be is said by annotations. When an exception that is not polyad's leaves such a function, the
arguments are compared with the annotations, and the first that does not fit is named; see `polyad.dispatch.arguments`.
Only kinds (`polyad.base.kinds`) and ``Literal`` are checked before a call.

A call that is often made, such as a layer's or an optimizer's step, has no wrapper: there the method itself asks
`explained_call` in an ``except`` clause, which costs nothing until it is needed.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, ClassVar

from .dispatch.arguments import explained, explaining

__all__ = ["Explained", "explain", "explained_call", "explaining"]

_SPECIAL = (
    "__init__", "__call__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__add__", "__iadd__",
    "__mul__",
)  # fmt: skip
"""The special methods that are called with a user's values, and that Python does not call to find out what exists."""


def explain(namespace: dict[str, Any]) -> None:
    """Make the public functions and classes that a module defines explain themselves: its ``__all__``, or all names
    without an underscore.
    """
    for name in namespace.get("__all__") or [name for name in namespace if name[0] != "_"]:
        found = namespace.get(name)
        if getattr(found, "__module__", None) != namespace["__name__"]:
            continue
        if isinstance(found, types.FunctionType):
            namespace[name] = explaining(found)
        elif isinstance(found, type) and not issubclass(found, BaseException):
            explain_methods(found, getattr(found, "_unexplained", ()))


class Explained:
    """What a base class derives from, so that its public methods and those of polyad's subclasses explain themselves.

    A class of somebody else's keeps its own methods as they are. ``_unexplained`` names methods that do it themselves.
    """

    _unexplained: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        explain_methods(cls, cls._unexplained)


def explain_methods(cls: type, but: tuple[str, ...] = ()) -> None:
    """Make the public methods that polyad's class *cls* defines explain themselves, *but* for some."""
    if not cls.__module__.partition(".")[0].startswith("polyad"):
        return
    for name, method in list(vars(cls).items()):
        if name in but or (name[0] == "_" and name not in _SPECIAL) or getattr(method, "__explains__", False):
            continue
        if isinstance(method, (classmethod, staticmethod)):
            setattr(cls, name, type(method)(explaining(method.__func__)))
        elif isinstance(method, types.FunctionType) and not inspect.isgeneratorfunction(method):
            setattr(cls, name, explaining(method))


def explained_call(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Exception:
    """The error to raise for *error*, which left the call of *function*; *error* itself if it says enough."""
    signature = inspect.signature(function)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return error
    return explained(name, signature, arguments, error)
