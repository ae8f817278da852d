"""What pluggy reads of the OpenCL backend; cheap to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyad.backend import API_VERSION, BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.backend import Backend

INFO = BackendInfo(
    name="opencl",
    api_version=API_VERSION,
    # At most: what a device lacks of it, it says when it is asked.
    capabilities=Capabilities(features=frozenset({"asynchronous", "approximate_division"})),
    install="pip install 'polyad[opencl]'",
    description="OpenCL devices through PyOpenCL",
    requires=("pyopencl",),
    dlpack=(4,),  # kDLOpenCL
)


@hookimpl
def polyad_backend_info() -> BackendInfo:
    """Say who the backend is."""
    return INFO


@hookimpl
def polyad_create_backend() -> Backend:
    """Import PyOpenCL and look for platforms."""
    from .backend import OpenCLBackend

    return OpenCLBackend()
