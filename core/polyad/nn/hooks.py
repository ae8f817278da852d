"""Hooks on modules: where they are kept and in which order they run.

A module has no hook objects until the first hook is registered, so that a call without hooks pays one falsy check.
Hooks run in the order in which they were registered, those registered with ``prepend=True`` before the others; a hook
may remove itself while it runs.

To add a kind of hook, add a table to `ForwardHooks` (it runs in ``__call__``) or `StateHooks` (it runs in
``state_dict`` or ``load_state_dict``) and a ``register_..._hook`` method to `polyad.nn.Module` that returns the
handle of `polyad.autograd.hooks.register`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import PolyadError

if TYPE_CHECKING:
    from .module import Module

__all__ = ["ForwardHooks", "HookError", "StateHooks"]


class HookError(PolyadError, RuntimeError):
    """A hook returned something that cannot be used in its place."""


class PreHook(NamedTuple):
    """A hook that runs before ``forward`` and may replace its arguments."""

    function: Callable[..., Any]
    with_kwargs: bool


class PostHook(NamedTuple):
    """A hook that runs after ``forward`` and may replace its result; with *always_call* it runs after an error, too."""

    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool

    def __call__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        new = self.function(module, args, kwargs, result) if self.with_kwargs else self.function(module, args, result)
        return result if new is None else new


class ForwardHooks:
    """The hooks around one module's ``forward``. False while there are none."""

    __slots__ = ("post", "pre")

    def __init__(self) -> None:
        self.pre: dict[int, PreHook] = {}
        self.post: dict[int, PostHook] = {}

    def __bool__(self) -> bool:
        return bool(self.pre or self.post)

    def run(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``module.forward`` with its hooks around it."""
        result: Any = None
        called: set[int] = set()
        try:
            for pre in tuple(self.pre.values()):
                args, kwargs = _apply_pre_hook(pre, module, args, kwargs)
            result = module.forward(*args, **kwargs)
            for key, post in tuple(self.post.items()):
                called.add(key)
                result = post(module, args, kwargs, result)
            return result
        except Exception:
            for key, post in tuple(self.post.items()):
                if post.always_call and key not in called:
                    try:
                        result = post(module, args, kwargs, result)
                    except Exception as second:
                        warnings.warn(
                            f"a forward hook with always_call=True failed after forward had failed; its error is not "
                            f"raised: {type(second).__name__}: {second}",
                            stacklevel=3,
                        )
            raise


def _apply_pre_hook(
    hook: PreHook, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if hook.with_kwargs:
        new = hook.function(module, args, kwargs)
        if new is None:
            return args, kwargs
        if not (isinstance(new, tuple) and len(new) == 2):
            raise HookError(
                f"{type(module).__name__}: a forward pre-hook with kwargs must return None or (args, kwargs)",
                operands={"returned": new},
                fix="return None to keep the arguments, or a tuple of new args and new kwargs",
            )
        return new
    new = hook.function(module, args)
    if new is None:
        return args, kwargs
    return (new if isinstance(new, tuple) else (new,)), kwargs


class StateHooks:
    """The hooks around one module's ``state_dict`` and ``load_state_dict``."""

    __slots__ = ("load_post", "load_pre", "save_post", "save_pre")

    def __init__(self) -> None:
        self.save_pre: dict[int, Callable[..., Any]] = {}
        self.save_post: dict[int, Callable[..., Any]] = {}
        self.load_pre: dict[int, Callable[..., Any]] = {}
        self.load_post: dict[int, Callable[..., Any]] = {}
