"""The hooks through which pluggy finds backends and plug-ins.

Hooks are called when something is loaded, never on the way of an op. A hook module must be cheap to import and must
have no lazy module attributes: pluggy reads every attribute of what it registers. Nothing in core imports this module
before a backend is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from .api_version import API_VERSION as API_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..base.device import Device
    from ..distributed.engine import Engine
    from .capabilities import BackendInfo
    from .interface import Backend, KernelSupply
    from .runtime import Runtime

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


@hookspec
def polyad_runtime(device: Device) -> Runtime | None:
    """What runs generated kernels on a device that the plug-in does not own; None for all others.

    Called once for each device, when a kernel for it is first looked for: with it core makes kernels of primitives
    and composites as it does where a backend has a `Backend.runtime`. `Runtime.pays_from` says which of them outrank
    the backend's own. Let nothing heavy happen before `Runtime.compile`.
    """


@hookspec(firstresult=True)
def polyad_process_group(name: str) -> type[Engine] | None:
    """The class that carries data between processes, if the plug-in brings the one of that *name* ("mpi"); else None.

    Called by `polyad.distributed.init_process_group`. It is called with a `polyad.distributed.engine.World`.
    """


@hookspec
def polyad_notes() -> Iterable[str]:  # type: ignore[empty-body]
    """What `polyad doctor` tells of the plug-in: what it found, or what it lacks and how to mend that."""
