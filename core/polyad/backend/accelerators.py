"""Which device type stands for "the accelerator" where none is named."""

from __future__ import annotations

from typing import Any

from ..device import Device
from ..errors import BackendError, BackendUnavailable
from . import registry
from .interface import Backend

PREFERRED = ("cuda",)
"""Device types that are looked at before the others."""


def devices_of(name: str) -> int:
    """How many devices a device type has; 0 where its backend does not work."""
    try:
        return registry.count_devices(registry.get(name))[0]
    except BackendError:
        return 0


def current() -> str | None:
    """The default device's type if that is not the cpu, else the first installed type that has a device."""
    default = registry.get_default_device().type
    if default != "cpu":
        return default
    others = sorted((name for name in registry.names() if name != "cpu"), key=lambda n: (n not in PREFERRED, n))
    return next((name for name in others if devices_of(name)), None)


def resolve(device: Any) -> Device:
    """A device by name, by its index among the current accelerator's devices, or, for None, that accelerator's own."""
    if device is None:
        name = current()
        if name is None:
            raise BackendUnavailable(
                "accelerator: there is none on this machine",
                notes={"installed": ", ".join(registry.names())},
                fix="ask polyad.accelerator.is_available() first; `python -m polyad.backends` says what is missing",
            )
        return registry.resolve_device(name)
    if isinstance(device, int):
        return registry.resolve_device(f"{current() or 'cuda'}:{device}")
    return registry.resolve_device(device)


def pinning(device: Any = None) -> Backend | None:
    """The backend of *device* (the current accelerator if None) if it pins host memory."""
    name = current() if device is None else registry.resolve_device(device).type
    if name is None:
        return None
    backend = registry.get(name)
    found = registry.resolve_device(name if device is None else device)
    return backend if "pinned_memory" in backend.capabilities(found).features else None
