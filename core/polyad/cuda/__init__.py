"""NVIDIA GPUs under PyTorch's path ``polyad.cuda``: a view of whatever backend serves device type "cuda".

Questions answer "none" without a device; what needs a device raises the registry's error, which says what to
install.
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import accelerator, streams
from ..backend import registry
from ..compatibility.absent import stand_in
from ..device import Device
from ..errors import ArgumentTypeError, BackendError, DeviceError, safe_repr


def __getattr__(name: str) -> Any:
    if name == "amp":  # loaded when it is wanted: it brings the optimizers' scaler
        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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


# ------------------------------------------------------------------------------------------------------------- streams


class Stream(streams.Stream):
    """A queue of work on a cuda device (an index, a device, or the current one), as `polyad.Stream`.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> stream = polyad.cuda.Stream() if polyad.cuda.is_available() else None
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        super().__init__(_device(device), priority=priority)

    @property
    def cuda_stream(self) -> int:
        """The driver's handle of the stream."""
        return self.native_handle


class ExternalStream(Stream):
    """The stream that another library created: *stream_ptr* is the driver's handle. Keep it alive meanwhile.

    Raises RuntimeError if there is no such device, NotImplementedError if its backend takes no such streams.
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        found = _device(device)
        self.__dict__.update(Stream._of(found, streams.streams_of(found).external(stream_ptr)).__dict__)


class Event(streams.Event):
    """A point in a stream of the current cuda device, as `polyad.Event`. *external* has no effect.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> event = polyad.cuda.Event(enable_timing=True) if polyad.cuda.is_available() else None
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        super().__init__(_device(None), enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

    def record(self, stream: streams.Stream | None = None) -> None:
        """Put the event at the present end of *stream*, the current one if None; it is then of the stream's device."""
        if self._recorded is None:
            self.device = (current_stream() if stream is None else streams.checked(stream, "record")).device
        super().record(stream)


class StreamContext:
    """What `stream` returns: inside of the block, this thread's work goes to the stream; None changes nothing."""

    def __init__(self, stream: streams.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exception)


def stream(stream: streams.Stream | None) -> StreamContext:
    """A context in which this thread's work goes to *stream*; None changes nothing.

    >>> import polyad
    >>> with polyad.cuda.stream(None):
    ...     x = polyad.zeros(1)
    """
    return StreamContext(stream)


def set_stream(stream: streams.Stream | None) -> None:
    """Let what this thread asks of the stream's device go to *stream*; None changes nothing.

    >>> import polyad
    >>> polyad.cuda.set_stream(None)
    """
    if stream is not None:
        streams.set_stream(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work on *device* (an index, a device, or the current one) goes to.

    Raises RuntimeError if there is no such device.
    """
    return streams.current_stream(_device(device), Stream)


def default_stream(device: Any = None) -> Stream:
    """The stream that every thread begins with on *device* (an index, a device, or the current one).

    Raises RuntimeError if there is no such device.
    """
    return Stream._of(_device(device), None)
