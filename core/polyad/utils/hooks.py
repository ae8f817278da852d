"""What code for PyTorch asks of hooks, at its path ``polyad.utils.hooks``."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..base.state import warn_user
from ..compatibility.absent import stand_in
from ..history.hooks import RemovableHandle
from ..tensor import Tensor

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

BackwardHook = stand_in("utils.hooks.BackwardHook")


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function, as a decorator: `warn_if_has_hooks` says that it is not saved along with a tensor."""
    f.__dict__["__torch_unserializable__"] = True
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook of *tensor* that is marked as one that is not saved: polyad saves none.

    >>> import polyad
    >>> polyad.utils.hooks.warn_if_has_hooks(polyad.ones(1))
    """
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if isinstance(hook, types.FunctionType) and "__torch_unserializable__" in hook.__dict__:
            warn_user(f"the hook {hook.__name__} is not saved with the tensor", UserWarning)
