"""Hooks on gradients: functions that see, and may replace, the gradient that arrives at a node."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .node import Node

_ids = itertools.count().__next__


class RemovableHandle:
    """Removes a hook: by ``remove()``, or on leaving the handle used as a context manager."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = _ids()
        self._hooks = hooks

    def remove(self) -> None:
        """Remove the hook; does nothing if it is gone already."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def register(hooks: dict[int, Any], hook: Any, *, prepend: bool = False) -> RemovableHandle:
    """Put *hook* at the end of *hooks*, or at its front, and return the handle that takes it out."""
    handle = RemovableHandle(hooks)
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(others)
    return handle


def add_hook(node: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Run *hook* on each gradient that arrives at *node*."""
    if node.hooks is None:
        node.hooks = {}
    return register(node.hooks, hook)
