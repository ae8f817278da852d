"""Objects that stand in for tensors, under PyTorch's path ``polyad.overrides``.

polyad's own functions ask no object for ``__torch_function__``: a look at the class of each operand would cost every
call. What is here serves libraries whose functions ask.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .compatibility.absent import lacking
from .dispatch.catalogue import PUBLIC
from .errors import ArgumentTypeError
from .tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

__getattr__ = lacking(__name__)


def is_tensor_like(inp: Any) -> bool:
    """Whether *inp* is a tensor, or an object whose class brings ``__torch_function__`` to be taken for one.

    >>> import polyad
    >>> polyad.overrides.is_tensor_like(polyad.zeros(1)), polyad.overrides.is_tensor_like([0.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function_unary(value: Any) -> bool:
    """Whether the class of *value* brings ``__torch_function__``."""
    return hasattr(type(value), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of the arguments brings ``__torch_function__``; tensors' own do not.

    >>> import polyad
    >>> polyad.overrides.has_torch_function((polyad.zeros(1), 2))
    False
    """
    return any(map(has_torch_function_unary, relevant_args))


def has_torch_function_variadic(*values: Any) -> bool:
    """`has_torch_function` of arguments one by one."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What the first ``__torch_function__`` that knows *public_api* makes of the call.

    They are asked from left to right, derived classes before their bases, each class once; one that does not know the
    function returns NotImplemented. Raises TypeError if none knows it.
    """
    asked: list[Any] = []
    for value in relevant_args:
        if has_torch_function_unary(value) and all(type(value) is not type(other) for other in asked):
            at = next((n for n, other in enumerate(asked) if isinstance(value, type(other))), len(asked))
            asked.insert(at, value)
    types = [type(value) for value in asked]
    for value in asked:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(public_api, "__name__", repr(public_api))
    raise ArgumentTypeError(
        f"{name}: no __torch_function__ of {', '.join(kind.__name__ for kind in types)} knows it",
        fix="pass tensors, or let one of these classes answer",
    )


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[F], F]:
    """A decorator: a call is handled by the ``__torch_function__`` of what *dispatcher* gives of its arguments, if any.

    >>> import polyad
    >>> @polyad.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    >>> double(polyad.ones(2))
    tensor([2., 2.])
    """

    def wrap(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return wrap


def get_ignored_functions() -> set[Callable[..., Any]]:
    """No functions: polyad's own ask none for ``__torch_function__``, so there are no exceptions to list."""
    return set()


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions of tensors by the module that shows them. Loads all families of ops.

    >>> import polyad
    >>> polyad.exp in polyad.overrides.get_overridable_functions()[polyad]
    True
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for path in PUBLIC:
        space = PUBLIC[path].namespace
        if space != "Tensor":
            module = importlib.import_module(f"polyad.{space}" if space else "polyad")
            found.setdefault(module, []).append(PUBLIC[path].call)
    return found


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether *func* is a method, or the getter of a property, of Tensor.

    >>> import polyad
    >>> polyad.overrides.is_tensor_method_or_property(polyad.Tensor.numel)
    True
    """
    own = inspect.getattr_static(Tensor, getattr(func, "__name__", ""), None)
    return func is own or func is getattr(own, "fget", own)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The path of a function of tensors, None for others.

    >>> import polyad
    >>> polyad.overrides.resolve_name(polyad.linalg.det)
    'polyad.linalg.det'
    """
    for path in PUBLIC:
        if path.rpartition(".")[2] == getattr(f, "__name__", "") and PUBLIC[path].call is f:
            return f"polyad.{path}"
    return f"polyad.Tensor.{f.__name__}" if is_tensor_method_or_property(f) else None
