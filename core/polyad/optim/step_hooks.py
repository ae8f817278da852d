"""Hooks around the steps of every optimizer; those of a single one are its own: `Optimizer.register_step_pre_hook`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..history.hooks import RemovableHandle, register

__all__ = ["ON_ALL", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ON_ALL: dict[str, dict[int, Callable[..., Any]]] = {}
"""By when they are called, "step_pre" or "step_post"; empty until the first is registered."""


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer, before the optimizer's own hooks.

    It may return new ``(args, kwargs)``.

    >>> import polyad
    >>> from polyad.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> with handle:
    ...     polyad.optim.SGD([polyad.ones(1, requires_grad=True)], lr=0.1).step()
    SGD
    """
    return register(ON_ALL.setdefault("step_pre", {}), hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer, after the optimizer's own hooks."""
    return register(ON_ALL.setdefault("step_post", {}), hook)
