"""What pluggy reads of the fake device; cheap to import."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from polyad.backend import BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl
from polyad.base.dtypes import ALL, bfloat16, complex128, float16, float64

if TYPE_CHECKING:
    from polyad.backend import Backend

OPTIONAL = {"fp64": {float64, complex128}, "fp16": {float16, bfloat16}}
"""What the environment can take away: names and the dtypes that go with them."""


def info() -> BackendInfo:
    """What the device can do, by the environment."""
    lacking = [name for name in OPTIONAL if os.environ.get(f"POLYAD_FAKE_{name.upper()}") == "0"]
    return BackendInfo(
        name="fake",
        api_version=(1, 3),
        capabilities=Capabilities(
            dtypes=frozenset(ALL).difference(*(OPTIONAL[name] for name in lacking)),
            features=frozenset({"asynchronous", "streams", "pinned_memory"}),
        ),
        install="pip install ./tests/backends/fake",
        description="a device for tests: memory and a queue of its own, faults on demand",
    )


@hookimpl
def polyad_backend_info() -> BackendInfo:
    """Say who the backend is."""
    return info()


@hookimpl
def polyad_create_backend() -> Backend:
    """Create it with the devices and the memory that the environment asks for."""
    from .backend import FakeBackend

    return FakeBackend.from_environment()
