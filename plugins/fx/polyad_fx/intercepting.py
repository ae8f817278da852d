"""What is intercepted while a program is traced: calls of modules, what modules give as attributes, and functions for
which `polyad.fx.wrap` was called.

Calls of modules reach the tracer as they reach anybody who watches a thread (`polyad.base.state.ThreadState.watchers`).
Attributes are looked up through `_attribute`, and wrapped functions are replaced where they are globals, as long as
some thread traces; threads that do not trace notice neither.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from polyad import nn
from polyad.base.locks import Lock
from polyad.base.state import state

from .proxy import Proxy

if TYPE_CHECKING:
    from ._symbolic_trace import Tracer

__all__ = ["Patches", "WRAPPED", "forget_wrapped", "intercepted", "is_tracing", "proxy_among", "wrap_method"]

WRAPPED: dict[tuple[int, str], dict[str, Any]] = {}
"""The globals in which a function is to be one node, by their id and its name in them."""

_wrapped_methods: list[tuple[type, str]] = []
_patching = Lock()
_tracing = 0
_wrappings: dict[tuple[int, str], list[Any]] = {}
"""How many traces want a name of a class or of globals to be wrapped, and what undoes it; by the owner's id."""


def forget_wrapped(scope: int) -> None:
    """Let go of the globals with that id."""
    for key in [key for key in WRAPPED if key[0] == scope]:
        del WRAPPED[key]


def wrap_method(cls: type, name: str) -> None:
    """Let a method of a class be one node where a traced program calls it with a proxy."""
    _wrapped_methods.append((cls, name))


class Watcher:
    """Gives the calls of modules, and their attributes, to a tracer.

    Attributes:
        proxies: of parameters and buffers, by name, so that each is one node.
    """

    def __init__(self, tracer: Tracer, patches: Patches) -> None:
        self.tracer, self.patches = tracer, patches
        self.proxies: dict[str, Any] = {}

    def call_module(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a module that is traced."""
        self.patches.visit(getattr(getattr(module, "forward", module), "__globals__", {}))

        def forward(*args: Any, **kwargs: Any) -> Any:
            return module._call(args, kwargs)

        return self.tracer.call_module(module, forward, args, kwargs)

    def stepped(self, *args: Any) -> None:
        """An optimizer's step, which is of no interest."""


def is_tracing() -> bool:
    """Whether this thread traces."""
    return any(isinstance(one, Watcher) for one in state.watchers)


@contextmanager
def intercepted(tracer: Tracer, patches: Patches) -> Iterator[None]:
    """While it is entered, this thread's calls and attributes of modules go through *tracer*."""
    global _tracing
    module_class: Any = nn.Module
    with _patching:
        _tracing += 1
        module_class.__getattribute__ = _attribute
    before = state.watchers
    state.watchers = (*before, Watcher(tracer, patches))
    try:
        with patches:
            yield
    finally:
        state.watchers = before
        with _patching:
            _tracing -= 1
            if not _tracing:
                del module_class.__getattribute__


_PLUMBING = frozenset({"_roles", "_call_hooks", "_modules", "_parameters", "_buffers", "_call"})


def _attribute(module: nn.Module, name: str) -> Any:
    """What a module gives as an attribute: the tracer is asked for parameters, buffers and submodules."""
    value = object.__getattribute__(module, name)
    watchers = state.watchers
    watcher = watchers[-1] if watchers else None
    if watcher.__class__ is not Watcher or name in _PLUMBING:
        return value
    if name not in object.__getattribute__(module, "__dict__").get("_roles", ()):
        return value
    state.watchers = ()  # what the tracer itself looks up is not traced
    try:
        return watcher.tracer.getattr(name, value, watcher.proxies)
    finally:
        state.watchers = watchers


class Patches:
    """The wrapped functions of a trace, until it is left.

    Args:
        ids: of further functions that are wrapped wherever the traced program has them as globals.
    """

    def __init__(self, ids: set[int]) -> None:
        self._ids = ids
        self._seen: set[int] = set()
        self._done: list[tuple[int, str]] = []

    def __enter__(self) -> Patches:
        for (_, name), scope in list(WRAPPED.items()):
            if name in scope or hasattr(builtins, name):
                self._put_global(scope, name)
        for cls, name in _wrapped_methods:
            self._put(cls, name, functools.partial(_wrap_method, cls, name))
        return self

    def __exit__(self, *exception: Any) -> None:
        with _patching:
            for key in reversed(self._done):
                _wrappings[key][0] -= 1
                if not _wrappings[key][0]:
                    _wrappings.pop(key)[1]()

    def visit(self, scope: dict[str, Any]) -> None:
        """Wrap the functions of the given ids that *scope*, the globals of a function, has."""
        if id(scope) in self._seen or not self._ids:
            return
        self._seen.add(id(scope))
        for name, value in list(scope.items()):
            if not name.startswith("_") and callable(value) and id(value) in self._ids:
                self._put_global(scope, name)

    def _put_global(self, scope: dict[str, Any], name: str) -> None:
        self._put(scope, name, functools.partial(_wrap_global, scope, name))

    def _put(self, owner: Any, name: str, wrap: Callable[[], Callable[[], None]]) -> None:
        key = id(owner), name
        with _patching:
            if key not in _wrappings:
                _wrappings[key] = [0, wrap()]
            _wrappings[key][0] += 1
        self._done.append(key)


def _wrap_global(scope: dict[str, Any], name: str) -> Callable[[], None]:
    """Replace a function among globals. Returns what undoes it."""
    there = name in scope
    function = scope[name] if there else getattr(builtins, name)
    scope[name] = _as_node(function)

    def undo() -> None:
        if there:
            scope[name] = function
        else:
            del scope[name]

    return undo


def _wrap_method(cls: type, name: str) -> Callable[[], None]:
    """Replace a method. Returns what undoes it."""
    function = getattr(cls, name)

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        proxy = proxy_among((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    setattr(cls, name, method)
    return lambda: setattr(cls, name, function)


def _as_node(function: Callable[..., Any]) -> Callable[..., Any]:
    """*function*, whose call with a proxy is a node."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = proxy_among((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def proxy_among(value: Any) -> Proxy | None:
    """A proxy in *value*, nested or not."""
    if isinstance(value, Proxy):
        return value
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    elif not isinstance(value, (tuple, list)):
        return None
    return next((found for found in map(proxy_among, value) if found is not None), None)
