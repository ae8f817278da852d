"""What pluggy reads of the CUDA backend; imports nothing of CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyad.backend import API_VERSION, BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.backend import Backend

INFO = BackendInfo(
    name="cuda",
    api_version=API_VERSION,
    capabilities=Capabilities(features=frozenset({"asynchronous", "streams", "pinned_memory"})),
    install="pip install 'polyad[cuda12]' (or 'polyad[cuda13]' for drivers from 580 on)",
    description="NVIDIA GPUs through CuPy",
    requires=("cupy",),
    dlpack=(2,),  # kDLCUDA
)


@hookimpl
def polyad_backend_info() -> BackendInfo:
    """Say who the backend is."""
    return INFO


@hookimpl
def polyad_create_backend() -> Backend:
    """Import CuPy and look for a driver."""
    from .backend import CudaBackend

    return CudaBackend()
