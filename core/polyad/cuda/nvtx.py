"""Names for stretches of a program, which NVIDIA's profilers show beside the kernels: ``polyad.cuda.nvtx``.

They cost next to nothing where no profiler runs the program. All raise RuntimeError where device type "cuda" is not
installed; a device is not needed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.shapes_and_strides import int_of
from ..devices import registry
from ..errors import wrong_type

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class _Depth(threading.local):
    open = 0


_depth = _Depth()


def _check_message(function: str, msg: Any) -> str:
    if not isinstance(msg, str):
        raise wrong_type(f"nvtx.{function}", "msg", msg, "a str")
    return msg


def range_push(msg: str) -> int:
    """Begin a range of this thread inside of those that are open; how many were open is returned.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     outer = polyad.cuda.nvtx.range_push("step")
    ...     _ = polyad.cuda.nvtx.range_pop()
    """
    registry.get("cuda").markers().push(_check_message("range_push", msg))
    _depth.open += 1
    return _depth.open - 1


def range_pop() -> int:
    """End the range of this thread that was begun last; how many are open then is returned, -1 if none was."""
    registry.get("cuda").markers().pop()
    if not _depth.open:
        return -1
    _depth.open -= 1
    return _depth.open


def range_start(msg: str) -> int:
    """Begin a range that any thread may end, with what is returned."""
    return registry.get("cuda").markers().start(_check_message("range_start", msg))


def range_end(range_id: int) -> None:
    """End a range of `range_start`."""
    number = int_of(range_id)
    if number is None:
        raise wrong_type("nvtx.range_end", "range_id", range_id, "what range_start returned")
    registry.get("cuda").markers().end(number)


def mark(msg: str) -> None:
    """A point in time."""
    registry.get("cuda").markers().mark(_check_message("mark", msg))


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block, or, as a decorator, around each call of a function.

    Its name is ``msg.format(*args, **kwargs)``.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     with polyad.cuda.nvtx.range("epoch {}", 1):
    ...         x = polyad.ones(2, device="cuda")
    """
    range_push(_check_message("range", msg).format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
