"""Reverse-mode differentiation.

node.py       the graph: one node an op call
gradients.py  backward and grad: what a user calls
engine.py     the backward pass
grad_mode.py  no_grad and its kin
hooks.py      functions that see gradients on their way
function.py   ops with a hand-written backward: `Function`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .function import Function as Function
    from .gradients import backward as backward, grad as grad

__all__ = ["Function", "backward", "grad"]

_LAZY = {"Function": "function", "backward": "gradients", "grad": "gradients"}


def __getattr__(name: str) -> Any:
    # They need Tensor, which needs this package's nodes: loaded on first use.
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    return value
