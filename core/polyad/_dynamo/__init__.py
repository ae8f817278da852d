"""The part of PyTorch's compiler that programs reach for, at its path ``polyad._dynamo``; see `polyad.compiler`.

Nothing is compiled, so nothing here changes anything but the values of ``config``, which are kept and not read.
"""

from __future__ import annotations

import sys
from typing import Any

from ..compatibility.absent import lacking
from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_dynamo_compiling as is_compiling,
    list_backends,
    reset,
)
from ..compiler.entry import OptimizedModule, compile
from ..compiler.settings import dynamo as config
from . import eval_frame, utils

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "eval_frame",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "utils",
]

__getattr__ = lacking(__name__)

sys.modules[f"{__name__}.config"] = config  # type: ignore[assignment]  # programs import it, as the module it is there


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """The decorator ``polyad.compile(backend=...)``, by its older name."""
    return compile(backend=backend, disable=bool(options.get("disable", False)))


def graph_break(msg: str = "") -> None:
    """Does nothing: there is no graph to end."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Does nothing: code runs with whatever sizes come."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Does nothing: code runs with whatever sizes come."""


def mark_static(t: Any, index: Any = None) -> None:
    """Does nothing: code runs with whatever sizes come."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Does nothing: no code counts on where a tensor lies."""
