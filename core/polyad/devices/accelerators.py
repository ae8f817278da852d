"""Which device type stands for "the accelerator" where none is named."""

from __future__ import annotations

from typing import Any

from ..backend.interface import Backend
from ..base.device import Device
from ..errors import BackendError, BackendUnavailable
from . import registry

PREFERRED = ("cuda",)
"""Device types that are looked at before the others."""


def devices_of(name: str, host: bool = False) -> int:
    """How many devices of a type count as accelerators: none where its backend does not work.

    The processor that the program runs on, by another name (an OpenCL device of type CPU), counts with *host*, and if
    the program chose that type as its default: it computes there, but what it computes is not faster for it.
    """
    try:
        backend = registry.get(name)
        count = registry.count_devices(backend)[0]
        if host or not count or name == registry.get_default_device().type:
            return count
        return sum(not backend.runs_on_host(Device(name, number)) for number in range(count))
    except BackendError:
        return 0


def current(host: bool = False) -> str | None:
    """The default device's type if that is not the cpu, else the first installed type that has an accelerator; with
    *host*, the processor by another name counts.
    """
    default = registry.get_default_device().type
    if default != "cpu":
        return default
    others = sorted((name for name in registry.names() if name != "cpu"), key=lambda n: (n not in PREFERRED, n))
    return next((name for name in others if devices_of(name, host)), None)


def resolve(device: Any) -> Device:
    """A device by name, by its index among the current accelerator's devices, or, for None, that accelerator's own.

    Where there is no accelerator it is the processor by another name, if a backend has it: a program that asks to wait
    may be using that.
    """
    if device is None:
        name = current() or current(host=True)
        if name is None:
            raise _none()
        return registry.resolve_device(name)
    if isinstance(device, int):
        return registry.resolve_device(f"{current() or current(host=True) or 'cuda'}:{device}")
    return registry.resolve_device(device)


def numbered(index: int) -> Device:
    """Device number *index* of the current accelerator, as a number alone names it: no processor by another name.

    Raises BackendUnavailable (a RuntimeError) if there is no accelerator, or no such device, DeviceError for a number
    below 0.
    """
    name = current()
    if name is None:
        raise _none(f"device {index}")
    return registry.resolve_device(f"{name}:{index}")


def _none(what: str = "accelerator") -> BackendUnavailable:
    return BackendUnavailable(
        f"{what}: there is {'none' if what == 'accelerator' else 'no accelerator'} on this machine",
        notes={"installed": ", ".join(registry.names())},
        fix="ask polyad.accelerator.is_available() first; `python -m polyad.backends` says what is missing",
    )


def pinning(device: Any = None) -> Backend | None:
    """The backend of *device* (the current accelerator if None) if it pins host memory."""
    name = current() if device is None else registry.resolve_device(device).type
    if name is None:
        return None
    backend = registry.get(name)
    found = registry.resolve_device(name if device is None else device)
    return backend if "pinned_memory" in backend.capabilities(found).features else None
