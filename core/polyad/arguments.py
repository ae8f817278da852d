"""How public functions and classes are made to say what is wrong with their arguments: declared once for each module.

A module of functions ends with ``explain(globals())``, a base class derives from `Explained`. Nothing else is written:
what the arguments must be is said by annotations. When an exception that is not polyad's leaves such a function, the
arguments are compared with the annotations, and the first that does not fit is named; see `polyad.dispatch.arguments`.
What they must be to each other, or what a call without a wrapper must be given, is said by the functions ``check_...``
at the end of this module, one for each rule. Only kinds (`polyad.base.kinds`) and ``Literal`` are checked before.

A call that is often made, such as a layer's or an optimizer's step, has no wrapper: there the method itself asks
`explained_call` in an ``except`` clause, which costs nothing until it is needed.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

from .dispatch.annotations import signature_of
from .dispatch.arguments import explained, explaining
from .errors import ArgumentError, ArgumentTypeError, PolyadError, ShapeError, safe_repr

__all__ = [
    "Explained", "check_choice", "check_dims", "check_divisible", "check_either", "check_length", "check_shape",
    "check_type", "check_within", "explain", "explained_call", "explaining",
]  # fmt: skip

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
    signature = signature_of(function)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return error
    return explained(name, signature, arguments, error)


def check_type(
    function: str, name: str, value: Any, types_: Any, wanted: str, error: type[PolyadError] = ArgumentTypeError
) -> Any:
    """*value*. Raises *error* unless it is an instance of *types_*, which are called *wanted* ("a Module")."""
    if not isinstance(value, types_):
        raise error(
            f"{function}: {name} is {type(value).__name__}, not {wanted}",
            operands={name: value},
            fix=f"pass {wanted} as {name}",
        )
    return value


def check_choice(
    function: str, name: str, value: Any, choices: Collection[Any], error: type[PolyadError] = ArgumentError
) -> None:
    """Raise *error* unless *value* is one of *choices*."""
    if not any(value is one or (isinstance(value, type(one)) and value == one) for one in choices):
        raise error(
            f"{function}: unknown {name} {safe_repr(value)}",
            operands={name: value},
            fix=f"use one of {', '.join(map(repr, choices))}",
        )


def check_dims(
    function: str,
    name: str,
    tensor: Any,
    counts: Collection[int],
    fix: str = "reshape it",
    error: type[PolyadError] = ArgumentError,
) -> None:
    """Raise *error* unless the number of dimensions of *tensor* is among *counts*; a range has no upper end."""
    if tensor.ndim not in counts:
        wanted = f"at least {counts[0]}-d" if isinstance(counts, range) else " or ".join(f"{n}-d" for n in counts)
        raise error(f"{function}: {name} must be {wanted}, not {tensor.ndim}-d", operands={name: tensor}, fix=fix)


def check_shape(
    function: str, name: str, tensor: Any, shape: Sequence[int], error: type[PolyadError] = ShapeError, fix: str = ""
) -> None:
    """Raise *error* unless *tensor* has that *shape*."""
    if tuple(tensor.shape) != tuple(shape):
        raise error(
            f"{function}: {name} must be {tuple(shape)}, not {tuple(tensor.shape)}",
            operands={name: tensor},
            fix=fix or f"make it {tuple(shape)}",
        )


def check_divisible(
    function: str, name: str, value: int, by: str, parts: int, error: type[PolyadError] = ArgumentError
) -> None:
    """Raise *error* unless *parts*, the argument called *by*, divides *value*."""
    if parts < 1 or value % parts:
        raise error(
            f"{function}: {name} must be divisible by {by}: {value} and {parts}",
            operands={name: value, by: parts},
            fix=f"choose {by} among the divisors of {name}",
        )


def check_length(
    function: str, name: str, values: Any, count: int, of: str, error: type[PolyadError] = ArgumentError
) -> None:
    """Raise *error* unless there are *count* values, which are told to be *of* something ("numbers")."""
    if len(values) != count:
        raise error(
            f"{function}: {name} must be {count} {of}, not {len(values)}",
            operands={name: values},
            fix=f"pass {count} {of} as {name}",
        )


def check_either(function: str, error: type[PolyadError] = ArgumentError, **given: Any) -> str:
    """The name of the one argument that is not None. Raises *error* unless exactly one is."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise error(
            f"{function}: {' and '.join(given)} are ways to say the same",
            operands=given,
            fix="pass one of them",
        )
    return names[0]


def check_within(
    function: str, name: str, value: Any, least: Any, end: Any, error: type[PolyadError] = ArgumentError, what: str = ""
) -> None:
    """Raise *error* unless *value* is at least *least* and below *end*; *what* is for the fix ("a dimension")."""
    if not least <= value < end:
        raise error(
            f"{function}: {name} must be in [{least}, {end}), not {safe_repr(value)}",
            operands={name: value},
            fix=f"name {what}" if what else f"choose another {name}",
        )
