"""Hooks: functions that users hang on the nodes of a graph, to see gradients on their way and to replace them.

They are kept here and run by the backward pass (`polyad.autograd.hooks`, which says in which order).

Invariant: a node has no `NodeHooks` until its first hook, so that backward pays one test a node.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any

_ids = itertools.count().__next__


class RemovableHandle:
    """Removes a hook: by ``remove()``, or on leaving the handle used as a context manager."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = _ids()
        self._hooks = hooks

    def remove(self) -> None:
        """Remove the hook; does nothing if it is gone already."""
        self._hooks.pop(self.id, None)

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The hooks among which this one is, by their handles' ids."""
        return self._hooks

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
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


class NodeHooks:
    """The hooks of a node.

    Attributes:
        tensor: of the tensor whose node it is, ``hook(gradient)``.
        before, after: of the node, ``hook(grad_outputs)`` and ``hook(grad_inputs, grad_outputs)``.
    """

    __slots__ = ("after", "before", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Callable[..., Any]] = {}
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
