"""Whatever device is not the cpu, without naming it, under PyTorch's path ``polyad.accelerator``.

The current accelerator is the default device's type if that is not the cpu, else the first installed type that has a
device other than the processor that the program runs on, "cuda" before the others in alphabetical order. An OpenCL
device of type CPU is that processor: it is used where a program names it, or makes it the default.
"""

from __future__ import annotations

import importlib
from typing import Any

from .backend.memory import MemoryStats, failed, holdings
from .base.device import Device
from .devices import registry
from .devices.accelerators import current as _current, devices_of as _devices_of, resolve as _device
from .devices.streams import Stream, current_stream as _current_stream, set_stream as set_stream
from .errors import DeviceError, NotSupported


def current_accelerator(check_available: bool = False) -> Device | None:
    """The current accelerator's device type, None if there is none.

    *check_available* is PyTorch's; here an accelerator without a device never counts.

    >>> import polyad
    >>> device = polyad.accelerator.current_accelerator() or polyad.device("cpu")
    """
    name = _current()
    return None if name is None else Device(name)


def get_device_module(device: Any = None) -> Any:
    """The module for a type of device, such as `polyad.cuda`; that of the current accelerator, or `polyad.cpu`, if none
    is given. Raises RuntimeError for a type that has no module of its own.

    >>> import polyad
    >>> polyad.get_device_module("cpu").__name__
    'polyad.cpu'
    """
    if device is None:
        device = current_accelerator() or "cpu"
    kind = Device(device).type
    try:
        return importlib.import_module(f"polyad.{kind}")
    except ModuleNotFoundError:
        raise DeviceError(
            f"get_device_module: there is no module polyad.{kind}", fix="use polyad.accelerator, which serves all"
        ) from None


def is_available() -> bool:
    """Whether there is an accelerator.

    >>> import polyad
    >>> polyad.accelerator.is_available() == (polyad.accelerator.device_count() > 0)
    True
    """
    return _current() is not None


def device_count() -> int:
    """How many devices the current accelerator has; 0 without an accelerator.

    >>> import polyad
    >>> polyad.accelerator.device_count() >= 0
    True
    """
    name = _current()
    return 0 if name is None else _devices_of(name)


def current_device_index() -> int:
    """The index that the current accelerator's name stands for in this thread.

    Raises RuntimeError without an accelerator.
    """
    return _device(None).index or 0


current_device_idx = current_device_index


def set_device_index(device: Any, /) -> None:
    """Let the accelerator's name stand for *device* (a device, its name or index) in this thread; a negative index
    changes nothing.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> polyad.accelerator.set_device_index("cpu")
    """
    if not (isinstance(device, int) and device < 0):
        registry.set_current(_device(device))


set_device_idx = set_device_index


class device_index:
    """A context in which the accelerator's name stands for its device number *device*; None changes nothing.

    >>> import polyad
    >>> with polyad.accelerator.device_index(None):
    ...     x = polyad.zeros(1)
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What *device* (a device, its name or index; the current accelerator) can do: ``supported_dtypes``, a set.

    >>> import polyad
    >>> polyad.float32 in polyad.accelerator.get_device_capability("cpu")["supported_dtypes"]
    True
    """
    found = _device(device)
    return {"supported_dtypes": set(registry.get(found.type).capabilities(found).dtypes)}


def synchronize(device: Any = None, /) -> None:
    """Wait until all work on *device* (a device, its name or index; the current accelerator) is done.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> polyad.accelerator.synchronize("cpu")
    """
    found = _device(device)
    registry.get(found.type).synchronize(found)


def current_stream(device: Any = None, /) -> Stream:
    """The stream that this thread's work on *device* (a device, its name or index; the current accelerator) goes to.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> polyad.accelerator.current_stream("cpu").query()
    True
    """
    return _current_stream(_device(device))


# -------------------------------------------------------------------------------------------------------------- memory


def _account(device: Any) -> tuple[Device, MemoryStats | None]:
    found = _device(device)
    return found, registry.get(found.type).memory_stats(found)


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold on *device* (a device, its name or index; the current accelerator).

    The figure is the allocator's, with what it rounds up, on a backend that keeps an account; else the sum over the
    tensors that are alive.

    >>> import gc, polyad
    >>> _ = gc.collect()  # what is freed by it later would count here
    >>> before = polyad.accelerator.memory_allocated("cpu")
    >>> x = polyad.zeros(1000)
    >>> polyad.accelerator.memory_allocated("cpu") - before
    4000
    """
    found, account = _account(device)
    return sum(holding.bytes for holding in holdings(found)) if account is None else account.allocated


def max_memory_allocated(device: Any = None) -> int:
    """The most that `memory_allocated` has been since the start or `reset_peak_memory_stats`.

    Raises NotImplementedError for a backend that keeps no account, such as "cpu".
    """
    return _memory_stats("max_memory_allocated", device).peak_allocated


def memory_reserved(device: Any = None) -> int:
    """Bytes that *device*'s allocator holds, those it keeps for later arrays included.

    Raises NotImplementedError for a backend that keeps no account, such as "cpu".
    """
    return _memory_stats("memory_reserved", device).reserved


def max_memory_reserved(device: Any = None) -> int:
    """The most that `memory_reserved` has been since the start or `reset_peak_memory_stats`.

    Raises NotImplementedError for a backend that keeps no account, such as "cpu".
    """
    return _memory_stats("max_memory_reserved", device).peak_reserved


def memory_stats(device: Any = None) -> dict[str, int]:
    """The account of *device*'s allocator under PyTorch's keys, ``"allocated_bytes.all.current"`` and so on.

    Raises NotImplementedError for a backend that keeps no account, such as "cpu".
    """
    account = _memory_stats("memory_stats", device)
    return {
        "allocated_bytes.all.current": account.allocated,
        "allocated_bytes.all.peak": account.peak_allocated,
        "active_bytes.all.current": account.allocated,
        "active_bytes.all.peak": account.peak_allocated,
        "reserved_bytes.all.current": account.reserved,
        "reserved_bytes.all.peak": account.peak_reserved,
        "active.all.current": account.blocks,
        "active.all.allocated": account.requests,
        "num_ooms": failed[_device(device)],
    }


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin at what is held now.

    >>> import polyad
    >>> polyad.accelerator.reset_peak_memory_stats("cpu")
    """
    found = _device(device)
    registry.get(found.type).reset_peak_memory_stats(found)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing but check *device*: the number of allocations is counted from the start.

    >>> import polyad
    >>> polyad.accelerator.reset_accumulated_memory_stats("cpu")
    """
    _device(device)


def get_memory_info(device: Any = None, /) -> tuple[int, int]:
    """The bytes that are free on *device* (a device, its name or index; the current accelerator), and all that it has.

    Raises RuntimeError if there is no such device, NotImplementedError for a backend that cannot tell.
    """
    found = _device(device)
    known = registry.get(found.type).memory_info(found)
    if known is None:
        raise NotSupported(
            f"get_memory_info: the backend of {found} does not know what is free", fix="use memory_allocated"
        )
    return known


def empty_host_cache() -> None:
    """Do nothing: page-locked memory that tensors gave up is kept by the backends' libraries.

    >>> import polyad
    >>> polyad.accelerator.empty_host_cache()
    """


def empty_cache() -> None:
    """Let the current accelerator's allocator give back what it keeps for later arrays.

    >>> import polyad
    >>> polyad.accelerator.empty_cache()
    """
    name = _current()
    if name is not None:
        registry.get(name).empty_cache()


def _memory_stats(function: str, device: Any) -> MemoryStats:
    found, account = _account(device)
    if account is None:
        raise NotSupported(
            f"{function}: the backend of {found} keeps no account of its memory",
            fix="memory_allocated sums up the tensors that are alive; for peaks on the host, use tracemalloc",
        )
    return account
