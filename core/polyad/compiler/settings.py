"""The switches of PyTorch's compiler, such as ``polyad._dynamo.config.suppress_errors``: kept, and not read.

A program that sets them runs, whatever they are called: which there are differs from one version of PyTorch to the
next. One that reads a switch gets what it set, or the number that PyTorch begins with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["Switches", "config", "dynamo", "inductor"]


class Switches:
    """Attributes that may be set, and change nothing.

    >>> from polyad._dynamo import config
    >>> with config.patch(suppress_errors=True):
    ...     config.suppress_errors
    True
    >>> config.suppress_errors
    False
    """

    def __init__(self, path: str, **values: Any) -> None:
        self.__dict__.update(values, _path=path)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__dict__.get('_path')}.{name} was not set, and polyad reads no such switch")

    @contextlib.contextmanager
    def patch(self, changes: Any = None, value: Any = None, **others: Any) -> Iterator[None]:
        """Other values inside of ``with`` or of a decorated function: by name, or one name and its value."""
        wanted = {changes: value} if isinstance(changes, str) else dict(changes or {})
        changed: list[tuple[Switches, dict[str, Any]]] = []
        try:
            for name, new in {**wanted, **others}.items():
                inner, _, last = name.rpartition(".")
                holder = getattr(self, inner) if inner else self
                changed.append((holder, dict(holder.__dict__)))
                setattr(holder, last, new)
            yield
        finally:
            for holder, before in reversed(changed):
                holder.__dict__.clear()
                holder.__dict__.update(before)


config = Switches("polyad.compiler.config", force_disable_caches=False, job_id=None)
dynamo = Switches(
    "polyad._dynamo.config",
    accumulated_cache_size_limit=256,
    cache_size_limit=8,
    capture_scalar_outputs=False,
    optimize_ddp=True,
    recompile_limit=8,
    suppress_errors=False,
    verbose=False,
)
inductor = Switches(
    "polyad._inductor.config",
    coordinate_descent_tuning=False,
    cpp=Switches("polyad._inductor.config.cpp"),
    cuda=Switches("polyad._inductor.config.cuda"),
    fx_graph_cache=True,
    max_autotune=False,
    triton=Switches("polyad._inductor.config.triton", cudagraphs=False, unique_kernel_names=True),
)
