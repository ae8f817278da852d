"""What pluggy reads of the NumPy backend; cheap to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyad.backend import API_VERSION, BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl
from polyad.base.dtypes import ALL, STORED

if TYPE_CHECKING:
    from polyad.backend import Backend

INFO = BackendInfo(
    name="cpu",
    api_version=API_VERSION,
    capabilities=Capabilities(
        frozenset((*ALL, *STORED)), features=frozenset({"shared_host_memory", "ordered_results"})
    ),
    install="pip install --upgrade polyad",
    indexed=False,
    description="NumPy on the host",
    dlpack=(1, 3),  # kDLCPU; kDLCUDAHost is memory of the host too, pinned
)


@hookimpl
def polyad_backend_info() -> BackendInfo:
    """Say who the backend is."""
    return INFO


@hookimpl
def polyad_create_backend() -> Backend:
    """Import NumPy's part and create it."""
    from .allocator import keep_freed_memory
    from .backend import NumpyBackend

    keep_freed_memory()
    return NumpyBackend()
