"""Objects that answer for tensors, and modes of functions, under PyTorch's path ``polyad.overrides``.

Every public function, method and property of tensors asks the objects among its arguments whose class brings
``__torch_function__``, and before them the innermost `TorchFunctionMode`; `polyad.dispatch.overriding` says how.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

from .base.state import state
from .compatibility.absent import lacking
from .dispatch.catalogue import ATTRIBUTES, PUBLIC
from .dispatch.overriding import MODES, SEEN, UNASKED, answered, answers, ask, check, uncheck, watch
from .tensor import Tensor
from .tensor.tensor import UNCONVERTED, written_on_tensor

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound="TorchFunctionMode")

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "ask_first",
    "get_default_nowrap_functions",
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


class TorchFunctionMode:
    """A context manager that sees the public functions of tensors that its thread calls, and may answer for them.

    A subclass defines ``__torch_function__(self, func, types, args=(), kwargs=None)``; while that runs, the mode is set
    aside, so it may call *func*. What returns NotImplemented leaves the call to objects among the arguments.

    >>> import polyad
    >>> class Counting(polyad.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         names.append(func.__name__)
    ...         return func(*args, **kwargs or {})
    >>> names = []
    >>> with Counting():
    ...     y = polyad.zeros(2) + 1
    >>> names
    ['zeros', 'add']
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__")

    def __enter__(self: M) -> M:
        watch()
        if not MODES:
            for function, reported in written_on_tensor():
                check(function, reported)
        MODES.append(self)
        state.function_modes = (*state.function_modes, self)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        at = max(n for n, mode in enumerate(state.function_modes) if mode is self)
        state.function_modes = (*state.function_modes[:at], *state.function_modes[at + 1 :])
        MODES.remove(self)
        if not MODES:
            for function, _ in written_on_tensor():
                uncheck(function)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls what it sees."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs or {})


def is_tensor_like(inp: Any) -> bool:
    """Whether *inp* is a tensor, or an object whose class brings ``__torch_function__`` to be taken for one.

    >>> import polyad
    >>> polyad.overrides.is_tensor_like(polyad.zeros(1)), polyad.overrides.is_tensor_like([0.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function_unary(value: Any) -> bool:
    """Whether *value* is asked: its class brings ``__torch_function__``, and is neither Tensor nor one of a layer's."""
    return type(value) is not Tensor and answers(type(value)) and not state.functions_off


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments is asked, or a mode; plain tensors are not.

    >>> import polyad
    >>> polyad.overrides.has_torch_function((polyad.zeros(1), 2))
    False
    """
    return any(map(has_torch_function_unary, relevant_args)) or bool(state.function_modes and state.functions_off < 2)


def has_torch_function_variadic(*values: Any) -> bool:
    """`has_torch_function` of arguments one by one."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What the first ``__torch_function__`` that knows *public_api* makes of the call: the innermost mode's, then those
    of the arguments.

    They are asked from left to right, derived classes before their bases, each class once; one that does not know the
    function returns NotImplemented. Raises TypeError if none knows it.
    """
    relevant = tuple(relevant_args)
    SEEN.update(type(value) for value in relevant if has_torch_function_unary(value))
    return answered(public_api, functools.partial(ask, public_api, (), args, kwargs), args, kwargs, relevant)


def ask_first(cls: type) -> None:
    """Let functions ask objects of *cls*, which has ``__torch_function__`` and is not derived from Tensor, before they
    look at them. Without it they try the first one as a tensor, which such an object may notice.
    """
    if cls not in SEEN:
        SEEN.add(cls)
        watch()


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
    """The functions for which no object is asked."""
    return {PUBLIC[name].call for name in UNASKED if name in PUBLIC} | {Tensor.as_subclass}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The getters whose results ``Tensor.__torch_function__`` gives as they are."""
    return set(UNCONVERTED)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions of tensors by the module, or class, that shows them. Loads all families of ops.

    >>> import polyad
    >>> polyad.exp in polyad.overrides.get_overridable_functions()[polyad]
    True
    """
    ignored = get_ignored_functions()
    found: dict[Any, list[Callable[..., Any]]] = {}
    for path in PUBLIC:
        space = PUBLIC[path].namespace
        if space != "Tensor" and PUBLIC[path].call not in ignored:
            module = importlib.import_module(f"polyad.{space}" if space else "polyad")
            found.setdefault(module, []).append(PUBLIC[path].call)
    names = [*ATTRIBUTES, *(name for name in vars(Tensor) if not name.startswith("_"))]
    found[Tensor] = [_reported(getattr(Tensor, name)) for name in dict.fromkeys(names) if name != "as_subclass"]
    return found


def _reported(attribute: Any) -> Any:
    return attribute.__get__ if isinstance(attribute, property) else attribute


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether *func* is a method, or the getter of a property, of Tensor.

    >>> import polyad
    >>> polyad.overrides.is_tensor_method_or_property(polyad.Tensor.numel)
    True
    """
    return _name_on_tensor(func) is not None


def _name_on_tensor(func: Any) -> str | None:
    if getattr(func, "__name__", "") in ("__get__", "__set__"):
        owner = func.__self__
        name = getattr(getattr(owner, "fget", None), "__name__", "")
        names = [name] if getattr(Tensor, name, None) is owner else list(ATTRIBUTES)
        found = next((one for one in names if getattr(Tensor, one, None) is owner), None)
        return found and f"{found}.{func.__name__}"
    name = getattr(func, "__name__", "")
    own = inspect.getattr_static(Tensor, name, None) if name else None
    return name if own is not None and (func is getattr(Tensor, name) or func is getattr(own, "fget", own)) else None


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The path of a function of tensors, None for others.

    >>> import polyad
    >>> polyad.overrides.resolve_name(polyad.linalg.det)
    'polyad.linalg.det'
    """
    name = getattr(f, "__name__", "")
    paths = [path for path in PUBLIC.names() if path.rpartition(".")[2] == name and PUBLIC[path].call is f]
    if paths:
        return (
            f"polyad.{max(paths, key=len) if any('nn.functional' in path for path in paths) else min(paths, key=len)}"
        )
    found = _name_on_tensor(f)
    return found and f"polyad.Tensor.{found}"
