"""NVIDIA GPUs under PyTorch's path ``polyad.cuda``: a view of whatever backend serves device type "cuda".

Questions answer "none" without a device; what needs a device raises the registry's error, which says what to
install.
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import accelerator
from ..backend import registry
from ..compatibility.absent import stand_in
from ..device import Device
from ..errors import ArgumentTypeError, BackendError, DeviceError, safe_repr


def __getattr__(name: str) -> Any:
    if name == "amp":  # loaded when it is wanted: it brings the optimizers' scaler
        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


Event = stand_in("cuda.Event")
Stream = stand_in("cuda.Stream")
stream = stand_in("cuda.stream")
get_device_properties = stand_in("cuda.get_device_properties")


def _device(device: Any) -> Device:
    if device is None:
        return registry.resolve_device("cuda")
    if isinstance(device, int) and not isinstance(device, bool):
        return registry.resolve_device(Device("cuda", device))
    if not isinstance(device, (str, Device)):
        raise ArgumentTypeError(f"cuda: device is {safe_repr(device)}", fix='pass an index, "cuda:0" or None')
    found = registry.resolve_device(device)
    if found.type != "cuda":
        raise DeviceError(f"cuda: {found} is no cuda device", fix='pass an index, "cuda:0" or None')
    return found


def device_count() -> int:
    """How many cuda devices there are; 0 without backend, driver or GPU.

    >>> import polyad
    >>> polyad.cuda.device_count() >= 0
    True
    """
    try:
        return registry.count_devices(registry.get("cuda"))[0]
    except BackendError:
        return 0


def is_available() -> bool:
    """Whether there is a cuda device.

    >>> import polyad
    >>> device = "cuda" if polyad.cuda.is_available() else "cpu"
    """
    return device_count() > 0


def current_device() -> int:
    """The index that "cuda" without an index stands for. Raises RuntimeError if there is no cuda device.

    >>> import polyad
    >>> polyad.cuda.current_device() if polyad.cuda.is_available() else 0
    0
    """
    return registry.resolve_device("cuda").index or 0


def set_device(device: Any) -> None:
    """Let "cuda" without an index stand for *device*, in all threads; a negative index changes nothing.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     polyad.cuda.set_device(0)
    """
    if isinstance(device, int) and device < 0:
        return
    registry.set_current(_device(device))


def synchronize(device: Any = None) -> None:
    """Wait until all work on *device* (an index, a device, or the current one) is done.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     polyad.cuda.synchronize()
    """
    found = _device(device)
    registry.get("cuda").synchronize(found)


def get_device_name(device: Any = None) -> str:
    """The hardware's name, as the backend describes it. Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> name = polyad.cuda.get_device_name() if polyad.cuda.is_available() else "none"
    """
    return registry.get("cuda").describe_device(_device(device))


def empty_cache() -> None:
    """Give memory that the backend keeps for later back to the driver; does nothing without a cuda device.

    >>> import polyad
    >>> polyad.cuda.empty_cache()
    """
    if is_available():
        registry.get("cuda").empty_cache()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold on *device* (an index, a device, or the current one); 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.memory_allocated() >= 0
    True
    """
    return accelerator.memory_allocated(_device(device)) if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most that `memory_allocated` has been; 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.max_memory_allocated() >= polyad.cuda.memory_allocated()
    True
    """
    return accelerator.max_memory_allocated(_device(device)) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator of *device* holds, those it keeps for later included; 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.memory_reserved() >= 0
    True
    """
    return accelerator.memory_reserved(_device(device)) if is_available() else 0
