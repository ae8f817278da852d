"""What pluggy reads of the tier-0 device; cheap to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyad.backend import BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.backend import Backend


@hookimpl
def polyad_backend_info() -> BackendInfo:
    """Say who the backend is."""
    return BackendInfo(
        name="tier0",
        api_version=(1, 0),
        capabilities=Capabilities(features=frozenset({"ordered_results"})),  # the host's, which fallback keeps
        install="pip install ./tests/backends/tier0",
        indexed=False,
        description="a device for tests: storage only, every op falls back",
    )


@hookimpl
def polyad_create_backend() -> Backend:
    """Create it."""
    from .backend import StorageOnly

    return StorageOnly()
