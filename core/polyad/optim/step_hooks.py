"""Hooks around the steps of every optimizer; those of a single one are its own: `Optimizer.register_step_pre_hook`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..history.hooks import RemovableHandle, register

__all__ = ["ON_ALL", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ON_ALL: dict[str, dict[int, Callable[..., Any]]] = {}
"""By when they are called, "step_pre" or "step_post"; empty until the first is registered."""


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`Optimizer.register_step_pre_hook` of every optimizer; called before an optimizer's own."""
    return register(ON_ALL.setdefault("step_pre", {}), hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """`Optimizer.register_step_post_hook` of every optimizer; called after an optimizer's own."""
    return register(ON_ALL.setdefault("step_post", {}), hook)
