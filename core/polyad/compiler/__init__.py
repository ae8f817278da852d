"""What programs tell PyTorch's compiler, at its path ``polyad.compiler``: code runs as Python, so nothing follows.

eager.py     `polyad.compile`, which compiles nothing yet
settings.py  the switches of PyTorch's compiler, which are kept and not read
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from ..compatibility.absent import lacking
from .eager import BACKENDS, compile as compile
from .settings import config as config

__getattr__ = lacking(__name__)

T = TypeVar("T")

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
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


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names that `polyad.compile` takes as ``backend``, of which none compiles.

    >>> import polyad
    >>> "inductor" in polyad.compiler.list_backends()
    True
    """
    return list(BACKENDS)


def set_stance(stance: str = "default", **kwargs: Any) -> AbstractContextManager[None]:
    """Changes nothing, as a call and as a context manager: no code is compiled, or compiled again."""
    return nullcontext()


def nested_compile_region(fn: Any = None, **kwargs: Any) -> Any:
    """A decorator that changes nothing, with and without arguments: no function is compiled."""
    return _as_it_is if fn is None else fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[T], T]:
    """A decorator that changes nothing: nothing of *original_fn* is compiled, so nothing takes its place."""
    return _as_it_is


def wrap_numpy(fn: T) -> T:
    """*fn* as it is: it gets and gives NumPy's arrays."""
    return fn
