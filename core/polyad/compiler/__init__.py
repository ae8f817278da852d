"""`polyad.compile`, and what programs tell PyTorch's compiler, at its path ``polyad.compiler``.

entry.py      `polyad.compile`: options, modules, methods
regions.py    a compiled function: what it has recorded, and what a call of it does
records.py    what is known of a run
recording.py  a run that is recorded
matching.py   a run that is compared with recordings, and answered by tensors that are computed later
answering.py  the source that compares one call, and answers it
tape.py       a stretch of a run as one function over arrays
writing.py    the source of that function
fusion.py     chains of ops in it as one kernel
passes.py     backward passes that begin outside of the function
explaining.py what became of a function, in words
settings.py   the switches of PyTorch's compiler, which are kept and not read
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ..compatibility.absent import lacking
from .entry import BACKENDS, compile as compile
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
    "explain",
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
    """A decorator that changes nothing, with and without arguments: what a function inside of a compiled one calls is
    compared as all that it calls, and its Python runs.

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
    """*fn*, or a list of functions, as it is: Python runs, whatever it calls."""
    return fn


def assume_constant_result(fn: Callable[..., T]) -> Callable[..., T]:
    """*fn* as it is: it is called each time."""
    return fn


def is_compiling() -> bool:
    """False: Python runs in each call of a compiled function, as it does in others.

    >>> import polyad
    >>> polyad.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False: Python runs in each call of a compiled function."""
    return False


def is_exporting() -> bool:
    """False: Python runs in each call of a compiled function."""
    return False


def reset() -> None:
    """Forget what was recorded of all functions: their next calls are recorded anew.

    >>> import polyad
    >>> polyad.compiler.reset()
    """
    import sys

    regions = sys.modules.get(f"{__name__}.regions")
    if regions is not None:
        regions.forget()


def cudagraph_mark_step_begin() -> None:
    """Does nothing: calls are not recorded as CUDA graphs."""


def explain(function: Any) -> str:
    """What became of a compiled function, in words: for each kind of arguments the ways through it that were recorded,
    and of the last call the stretches, why each ended, and whether a tape ran it. `print` it.

    Raises TypeError for what is not compiled.

    >>> import polyad
    >>> double = polyad.compile(lambda x: 2 * x)
    >>> for _ in range(2):
    ...     _ = double(polyad.ones(2))
    >>> print(polyad.compiler.explain(double))
    <lambda>: 1 kind of arguments
      (float32 (2,)): 1 way recorded, 1 call compared
        calls 0 to 0: 1 call by a tape of 1 row, until the end
    """
    from .explaining import explained

    return explained(function)


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names that `polyad.compile` takes as ``backend``.

    >>> import polyad
    >>> "inductor" in polyad.compiler.list_backends()
    True
    """
    return list(BACKENDS)


def set_stance(stance: str = "default", **kwargs: Any) -> AbstractContextManager[None]:
    """How calls of compiled functions go on, from now on or inside of ``with``: "default" records and compares;
    "force_eager" calls the functions themselves; "eager_on_recompile" compares and records no more;
    "fail_on_recompile" raises RuntimeError where a call differs from all records.

    Raises RuntimeError for another stance.

    >>> import polyad
    >>> double = polyad.compile(lambda x: 2 * x)
    >>> with polyad.compiler.set_stance("force_eager"):
    ...     double(polyad.ones(1))
    tensor([2.])
    """
    from .regions import enter_stance

    return enter_stance(stance)


def nested_compile_region(fn: Any = None, **kwargs: Any) -> Any:
    """A decorator that changes nothing, with and without arguments: all calls are compared one by one."""
    return _as_it_is if fn is None else fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[T], T]:
    """A decorator that changes nothing: nothing of *original_fn* is compiled, so nothing takes its place."""
    return _as_it_is


def wrap_numpy(fn: T) -> T:
    """*fn* as it is: it gets and gives NumPy's arrays."""
    return fn
