"""Reverse-mode differentiation, from the histories that tensors carry (`polyad.history`).

gradients.py  backward and grad: what a user calls
engine.py     the backward pass
grad_mode.py  no_grad and its kin
hooks.py      running the functions that see gradients on their way
graph.py      nodes, edges and hooks on several tensors, for users
saved.py      hooks that keep saved tensors elsewhere
origin.py     where in the program a node was recorded
anomaly.py    finding where NaN and infinity come from
passing.py    a node that tensors pass through, for hooks of modules
profiler.py   PyTorch's path of `polyad.inspection.op_times`
function.py   ops with a hand-written backward: `Function`
forward_ad.py tangents by hand; forward_level.py carries them through calls, forward_rules.py through ops
entries.py    what all transforms of functions share
functional.py jacobian, hessian and products with vectors, of functions of tensors
gradcheck.py  gradients compared with finite differences; how is in comparison.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import provided
from .grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)

if TYPE_CHECKING:
    from . import (
        forward_ad as forward_ad,
        function as function,
        functional as functional,
        graph as graph,
        profiler as profiler,
    )
    from .anomaly import detect_anomaly as detect_anomaly, set_detect_anomaly as set_detect_anomaly
    from .function import Function as Function
    from .gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
    from .gradients import backward as backward, grad as grad

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_LAZY = {
    "Function": "function",
    "backward": "gradients",
    "detect_anomaly": "anomaly",
    "grad": "gradients",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "set_detect_anomaly": "anomaly",
}
_LAZY_MODULES = frozenset({"forward_ad", "function", "functional", "graph", "profiler"})


provided.backward.fill_later(f"{__name__}.gradients", "backward")
provided.call_node.fill_later(f"{__name__}.engine", "call_node")


def __getattr__(name: str) -> Any:
    # Loaded on first use: a program that only computes needs none of them.
    from importlib import import_module

    if name in _LAZY_MODULES:
        return import_module(f".{name}", __name__)
    if name == "_profiler_enabled":
        return import_module("polyad.inspection.op_times").is_watched
    if name == "Variable":  # of a layer above this package
        return import_module("polyad.tensor.legacy_types").Variable
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    return value
