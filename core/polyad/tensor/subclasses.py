"""Classes that users derive from Tensor: what is computed from their objects by methods and operators is of that class.

Tensor itself is as it would be without them: a derived class gets operators and a look at attributes of its own, which
say of the tensors among a result that they are of the class. Functions, such as ``polyad.add``, do not look at classes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

TWO_SIDED = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
OPERATORS = (
    *(f"__{side}{name}__" for name in TWO_SIDED for side in ("", "r")),
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__pos__", "__abs__", "__invert__",
    "__getitem__",
)  # fmt: skip

OF_THEIR_OWN_CLASS = frozenset({"as_subclass", "grad"})
"""Attributes that say themselves of which class their tensors are."""


def keep_class(cls: type, base: type) -> None:
    """Let *cls*, derived from *base*, say of what its objects compute that it is of their class."""
    written = {name for each in cls.__mro__[: cls.__mro__.index(base)] for name in each.__dict__}
    for name in OPERATORS:
        if name not in written:
            setattr(cls, name, _operator(cls, name, base))
    if "__hash__" not in written:
        cls.__hash__ = base.__hash__  # type: ignore[method-assign]
    if "__getattribute__" not in written:
        setattr(cls, "__getattribute__", _attributes(cls, base))  # noqa: B010 (a type checker takes it for a method)


def _operator(cls: type, name: str, base: type) -> Callable[..., Any]:
    def operator(self: Any, *args: Any) -> Any:
        return _of_class(getattr(super(cls, self), name)(*args), base, (self, *args))

    operator.__name__ = name
    return operator


def _attributes(cls: Any, base: type) -> Callable[[Any, str], Any]:
    def __getattribute__(self: Any, name: str) -> Any:
        value = super(cls, self).__getattribute__(name)
        if name.startswith("_") or name in OF_THEIR_OWN_CLASS:
            return value
        if value.__class__ is not MethodType:
            return _of_class(value, base, (self,)) if value.__class__ in (base, tuple) else value
        mro = type(self).__mro__
        if any(name in each.__dict__ for each in mro[: mro.index(base)]):
            return value

        def method(*args: Any, **kwargs: Any) -> Any:
            return _of_class(value(*args, **kwargs), base, (self, *args, *kwargs.values()))

        method.__name__ = method.__qualname__ = name
        method.__doc__ = value.__doc__
        return method

    return __getattribute__


def _of_class(result: Any, base: type, given: tuple[Any, ...]) -> Any:
    """*result*, whose new tensors are from now on of the most derived class among those of the *given* tensors."""
    cls: type = base
    for value in given:
        if isinstance(value, cls):
            cls = type(value)
    for tensor in result if isinstance(result, (tuple, list)) else (result,):
        if tensor.__class__ is base and not any(tensor is value for value in given):
            tensor.__class__ = cls
    return result
