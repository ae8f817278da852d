"""Whatever device is not the cpu, without naming it, under PyTorch's path ``polyad.accelerator``.

The current accelerator is the default device's type if that is not the cpu, else the first installed one that has a
device, "cuda" before the others in alphabetical order.
"""

from __future__ import annotations

from typing import Any

from .backend import registry
from .device import Device
from .errors import BackendError, BackendUnavailable

PREFERRED = ("cuda",)
"""Device types that are looked at before the others."""


def _devices_of(name: str) -> int:
    try:
        return registry.count_devices(registry.get(name))[0]
    except BackendError:
        return 0


def _current() -> str | None:
    default = registry.get_default_device().type
    if default != "cpu":
        return default
    others = sorted((name for name in registry.names() if name != "cpu"), key=lambda n: (n not in PREFERRED, n))
    return next((name for name in others if _devices_of(name)), None)


def _device(device: Any) -> Device:
    if device is None:
        name = _current()
        if name is None:
            raise BackendUnavailable(
                "accelerator: there is none on this machine",
                notes={"installed": ", ".join(registry.names())},
                fix="ask polyad.accelerator.is_available() first; `python -m polyad.backends` says what is missing",
            )
        return registry.resolve_device(name)
    if isinstance(device, int):
        name = _current()
        return registry.resolve_device(f"{name or 'cuda'}:{device}")
    return registry.resolve_device(device)


def current_accelerator(check_available: bool = False) -> Device | None:
    """The current accelerator's device type, None if there is none.

    *check_available* is PyTorch's; here an accelerator without a device never counts.

    >>> import polyad
    >>> device = polyad.accelerator.current_accelerator() or polyad.device("cpu")
    """
    name = _current()
    return None if name is None else Device(name)


def is_available() -> bool:
    """Whether there is an accelerator.

    >>> import polyad
    >>> polyad.accelerator.is_available() == (polyad.accelerator.device_count() > 0)
    True
    """
    return _current() is not None


def device_count() -> int:
    """How many devices the current accelerator has; 0 without one.

    >>> import polyad
    >>> polyad.accelerator.device_count() >= 0
    True
    """
    name = _current()
    return 0 if name is None else _devices_of(name)


def synchronize(device: Any = None, /) -> None:
    """Wait until all work on *device* (a device, its name or index; the current accelerator) is done.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> polyad.accelerator.synchronize("cpu")
    """
    found = _device(device)
    registry.get(found.type).synchronize(found)
