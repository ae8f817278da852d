"""What pluggy reads of device "cudahost"; cheap to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyad.backend import BackendInfo
from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.backend import Backend


@hookimpl
def polyad_backend_info() -> BackendInfo:
    """Say who the backend is."""
    return BackendInfo(
        name="cudahost",
        api_version=(1, 3),
        install="pip install ./tests/backends/c ./tests/backends/cupy ./tests/backends/cudahost",
        indexed=False,
        description="a device for tests: generated CUDA C on the host",
    )


@hookimpl
def polyad_create_backend() -> Backend:
    """Create it."""
    from .device import HostBackend

    return HostBackend()
