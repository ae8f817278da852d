"""Classes that users derive from Tensor: what their objects are used for goes to ``__torch_function__`` of the class.

Tensor's own makes what is computed objects of the class. A derived class gets a look at what is asked of its objects:
their properties, and the methods and protocols that are written on Tensor. Declared functions and methods look at their
arguments themselves once there is such an object (`polyad.dispatch.overriding`). Tensor itself is as it would be
without all that.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from ..base.state import state
from ..dispatch.overriding import DISPATCHED, SEEN, answered, answers, disabled, dispatch_disabled, made
from ..errors import NoData

PROTOCOLS = (
    "__len__", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__contains__", "__repr__",
    "__format__", "__reduce_ex__", "__copy__", "__deepcopy__",
)  # fmt: skip


def prepare(cls: Any, base: Any) -> None:
    """Let objects of *cls*, derived from *base*, ask the class about what they are used for, unless it is not asked."""
    dispatches = getattr(cls, "__torch_dispatch__", dispatch_disabled) is not dispatch_disabled
    if dispatches and getattr(cls.__torch_function__, "__func__", None) is base.__torch_function__.__func__:
        cls.__torch_function__ = disabled  # as in PyTorch: who answers for ops says of which class results are
    if not answers(cls) and not dispatches:
        return
    SEEN.add(cls)
    if dispatches:
        DISPATCHED.add(cls)
    written = {name for each in cls.__mro__[: cls.__mro__.index(base)] for name in each.__dict__}
    for name in PROTOCOLS:
        if name not in written:
            setattr(cls, name, _protocol(getattr(base, name)))
    if "__getattribute__" not in written:
        setattr(cls, "__getattribute__", _attributes(base))  # noqa: B010 (a type checker takes it for a method)
    if "__setattr__" not in written:
        setattr(cls, "__setattr__", _assignments(base))  # noqa: B010


class NoArray:
    """What a tensor has for an array whose class says by ``__torch_dispatch__`` what it is made of: a layout."""

    __slots__ = ("cls", "ndim", "shape", "strides")

    def __init__(self, cls: type, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.cls, self.shape, self.strides, self.ndim = cls, shape, strides, len(shape)

    def __getattr__(self, name: str) -> NoReturn:
        raise self.refusal()

    def refusal(self) -> NoData:
        """The error for who wants elements."""
        return NoData(
            f"{self.cls.__name__}: a tensor that was made by _make_wrapper_subclass has no elements of its own",
            fix="compute with it by ops, which its __torch_dispatch__ answers, or with the tensors that it is made of",
        )

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.refusal()

    # Looked up on the class, so that __getattr__ does not catch them.
    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __iter__ = __len__ = __index__ = _refuse
    __float__ = __int__ = __bool__ = __dlpack__ = _refuse


def _protocol(plain: Callable[..., Any]) -> Callable[..., Any]:
    def protocol(self: Any, *args: Any, **kwargs: Any) -> Any:
        return answered(plain, plain, (self, *args), kwargs)

    protocol.__name__, protocol.__doc__ = plain.__name__, plain.__doc__
    return protocol


def _attributes(base: Any) -> Callable[[Any, str], Any]:
    of_object, declared = base.__getattribute__, base.__mro__[1]

    def __getattribute__(self: Any, name: str) -> Any:
        if name[:1] == "_" or (state.functions_off and type(self) not in DISPATCHED):
            return of_object(self, name)
        owner = next((each for each in type(self).__mro__ if name in each.__dict__), None)
        if owner is not base and owner is not declared:
            return of_object(self, name)
        found = getattr(base, name)
        if isinstance(found, property):
            return answered(found.__get__, found.fget, (self,), {})  # type: ignore[arg-type]
        if owner is declared or not isinstance(found, FunctionType) or name in of_object(self, "__dict__"):
            return of_object(self, name)

        def method(*args: Any, **kwargs: Any) -> Any:
            return answered(found, found, (self, *args), kwargs)

        method.__name__, method.__qualname__, method.__doc__ = name, found.__qualname__, found.__doc__
        return method

    return __getattribute__


def _assignments(base: Any) -> Callable[[Any, str, Any], None]:
    of_object = base.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        found = None if name[:1] == "_" or state.functions_off else getattr(base, name, None)
        if isinstance(found, property) and found.fset is not None and getattr(type(self), name, None) is found:
            answered(found.__set__, found.fset, (self, value), {})  # type: ignore[union-attr]
        else:
            of_object(self, name, value)

    return __setattr__


def of_class(result: Any, cls: Any, base: Any, given: tuple[Any, ...]) -> Any:
    """*result*, with its tensors as objects of *cls*. New tensors become that; of one among the *given* values, and of
    an object of another class, an alias does.
    """
    if isinstance(result, (tuple, list)):
        parts = [of_class(one, cls, base, given) for one in result]
        if all(one is other for one, other in zip(parts, result, strict=True)):
            return result
        return result._make(parts) if hasattr(result, "_make") else type(result)(parts)
    if not isinstance(result, base) or isinstance(result, cls) or result._is_wrapped:
        return result
    if result.__class__ is base and not _is_among(result, given):
        try:
            result.__class__ = cls
        except TypeError:  # a class with slots of its own
            pass
        else:
            made(result)
            return result
    return result.as_subclass(cls)


def _is_among(tensor: Any, given: Any) -> bool:
    return any(value is tensor or (value.__class__ in (list, tuple) and _is_among(tensor, value)) for value in given)
