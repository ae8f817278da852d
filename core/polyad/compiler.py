"""What programs tell PyTorch's compiler, at its path ``polyad.compiler``: code runs as Python, so nothing follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "reset",
]


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A decorator that changes nothing, with and without arguments: no function is compiled.

    >>> import polyad as torch
    >>> @torch.compiler.disable
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    return _as_it_is if fn is None else fn


def _as_it_is(fn: T) -> T:
    return fn


def allow_in_graph(fn: T) -> T:
    """*fn*, or a list of functions, as it is: no function is compiled."""
    return fn


def assume_constant_result(fn: Callable[..., T]) -> Callable[..., T]:
    """*fn* as it is: it is called each time."""
    return fn


def is_compiling() -> bool:
    """False: no code is compiled.

    >>> import polyad
    >>> polyad.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False: no code is compiled."""
    return False


def is_exporting() -> bool:
    """False: no code is compiled."""
    return False


def reset() -> None:
    """Does nothing: no code has been compiled."""


def cudagraph_mark_step_begin() -> None:
    """Does nothing: calls are not recorded as CUDA graphs."""
