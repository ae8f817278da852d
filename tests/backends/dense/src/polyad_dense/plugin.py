"""What pluggy reads of the dense device; cheap to import."""

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
        name="dense",
        api_version=(1, 3),
        install="pip install ./tests/backends/dense",
        indexed=False,
        description="a device for tests: whole arrays that nobody writes to, without strides",
    )


@hookimpl
def polyad_create_backend() -> Backend:
    """Create it."""
    from .backend import DenseOnly

    return DenseOnly()
