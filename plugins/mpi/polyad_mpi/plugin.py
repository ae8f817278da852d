"""What pluggy reads of the plug-in; cheap to import."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.distributed.engine import Engine


@hookimpl
def polyad_process_group(name: str) -> type[Engine] | None:
    """The engine, if it is asked for, and mpi4py and an MPI library are installed."""
    if name != "mpi" or find_spec("mpi4py") is None:
        return None
    from .joining import library

    if library() is None:
        return None
    from .engine import MPIEngine

    return MPIEngine
