"""The hooks through which pluggy finds backends and plug-ins, and the version of the interface behind them.

Hooks are called when something is loaded, never on the way of an op. A hook module must be cheap to import and must have no lazy
module attributes: pluggy reads every attribute of what it registers.

Versioning: a backend works with every polyad whose major version equals its own and whose minor version is at least its own.
Adding an optional hook or method raises the minor version; anything that breaks an existing backend raises the major one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .capabilities import BackendInfo
    from .interface import Backend, KernelSupply

API_VERSION = (1, 0)
"""(major, minor) of the backend interface."""

hookspec = pluggy.HookspecMarker("polyad")
hookimpl = pluggy.HookimplMarker("polyad")


@hookspec(firstresult=True)
def polyad_backend_info() -> BackendInfo:  # type: ignore[empty-body]
    """Say what the backend is, without importing anything heavy or touching hardware. Called first."""


@hookspec(firstresult=True)
def polyad_create_backend() -> Backend:  # type: ignore[empty-body]
    """Import what is heavy and return the backend. Called once, on the first use of the device type.

    Raise any exception if there is no device or no driver: its text is shown to the user with the install command.
    """


@hookspec
def polyad_kernels() -> Iterable[KernelSupply]:  # type: ignore[empty-body]
    """Kernels for devices that the plug-in does not own. Called once, on the first use of any device."""
