"""Marks for PyTorch's symbolic tracer, at its path ``polyad.fx``: polyad traces ops, by `polyad.jit.capture`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from .compatibility.absent import lacking, stand_in

T = TypeVar("T")

__all__ = ["Proxy", "symbolic_trace", "wrap"]

__getattr__ = lacking(__name__)
symbolic_trace: Callable[..., NoReturn] = stand_in("fx.symbolic_trace")


class Proxy:
    """What stands for a tensor while PyTorch traces: nothing is an instance, so programs may ask."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Proxy:
        """Raises NotImplementedError."""
        return symbolic_trace()


def wrap(fn_or_name: T) -> T:
    """A decorator that changes nothing: `polyad.jit.capture` records the ops that a function calls, whichever it is.

    >>> import polyad as torch
    >>> @torch.fx.wrap
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    return fn_or_name
