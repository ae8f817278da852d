"""When a profiler that NVIDIA brings, such as ``nsys profile --capture-range=cudaProfilerApi``, is to look.

All raise RuntimeError where device type "cuda" is not installed or has no driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..devices import registry

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let the profiler collect from now on.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     polyad.cuda.profiler.start()
    ...     polyad.cuda.profiler.stop()
    """
    registry.get("cuda").markers().collect(True)


def stop() -> None:
    """Let the profiler collect no more."""
    registry.get("cuda").markers().collect(False)


class Runtime:
    """The functions of CUDA's runtime by which programs begin and end profiles: each returns 0, CUDA's "success"."""

    def cudaProfilerStart(self) -> int:
        """As `start`."""
        start()
        return 0

    def cudaProfilerStop(self) -> int:
        """As `stop`."""
        stop()
        return 0


@contextmanager
def profile() -> Iterator[None]:
    """Let the profiler collect what happens inside of the block, or, as a decorator, of a function.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     with polyad.cuda.profiler.profile():
    ...         x = polyad.ones(2, device="cuda")
    """
    start()
    try:
        yield
    finally:
        stop()
