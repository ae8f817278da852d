"""NVIDIA GPUs under PyTorch's path ``polyad.cuda``: a view of whatever backend serves device type "cuda".

Questions answer "none" without a device; what needs a device raises the registry's error, which says what to
install.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from .. import accelerator, streams
from ..backend import registry
from ..compatibility.absent import stand_in
from ..device import Device
from ..dtypes import bfloat16
from ..errors import ArgumentTypeError, BackendError, DeviceError, OutOfMemory, safe_repr
from ..random import Generator, default_generator
from ..tensor import Tensor


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


def max_memory_reserved(device: Any = None) -> int:
    """The most that `memory_reserved` has been; 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.max_memory_reserved() >= 0
    True
    """
    return accelerator.max_memory_reserved(_device(device)) if is_available() else 0


def memory_stats(device: Any = None) -> dict[str, int]:
    """The account of the allocator of *device*, as `polyad.accelerator.memory_stats`; empty without a cuda device.

    >>> import polyad
    >>> stats = polyad.cuda.memory_stats()
    """
    return accelerator.memory_stats(_device(device)) if is_available() else {}


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin at what is held now. Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     polyad.cuda.reset_peak_memory_stats()
    """
    accelerator.reset_peak_memory_stats(_device(device))


OutOfMemoryError = OutOfMemory


def is_initialized() -> bool:
    """Whether there is a cuda device; it needs no initialisation.

    >>> import polyad
    >>> polyad.cuda.is_initialized() == polyad.cuda.is_available()
    True
    """
    return is_available()


def init() -> None:
    """Does nothing with a cuda device, which needs no initialisation; raises RuntimeError without."""
    _device(None)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current cuda device computes with bfloat16; False without a device. The argument has no effect.

    >>> import polyad
    >>> dtype = polyad.bfloat16 if polyad.cuda.is_bf16_supported() else polyad.float16
    """
    return is_available() and bfloat16 in registry.get("cuda").capabilities(_device(None)).dtypes


# ------------------------------------------------------------------------------------------------------ random numbers
# All devices draw from the same generator, `polyad.default_generator`: the same bits on each.


def manual_seed(seed: int) -> None:
    """Let random numbers begin anew from *seed*, on all devices, if there is a cuda device; else change nothing.

    Raises TypeError for what is no int, ValueError for an int outside [-2**63, 2**64).

    >>> import polyad
    >>> polyad.cuda.manual_seed(7)
    """
    Generator().manual_seed(seed)
    if is_available():
        default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """The same as `manual_seed`: all devices have the same generator.

    >>> import polyad
    >>> polyad.cuda.manual_seed_all(7)
    """
    manual_seed(seed)


def seed() -> None:
    """Let random numbers begin anew from a seed of the operating system's, if there is a cuda device."""
    if is_available():
        default_generator.seed()


def seed_all() -> None:
    """The same as `seed`: all devices have the same generator."""
    seed()


def initial_seed() -> int:
    """The seed that random numbers last began from. Raises RuntimeError if there is no cuda device."""
    _device(None)
    return default_generator.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the generator that all devices share. Raises RuntimeError if there is no such device."""
    _device(device)
    return default_generator.get_state()


def get_rng_state_all() -> list[Tensor]:
    """The state for each cuda device.

    >>> import polyad
    >>> len(polyad.cuda.get_rng_state_all()) == polyad.cuda.device_count()
    True
    """
    return [default_generator.get_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Let the generator that all devices share go on from a state. Raises RuntimeError if there is no such device."""
    _device(device)
    default_generator.set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Let the generator that all devices share go on from each of the states in turn, and so from the last."""
    for number, state in enumerate(new_states):
        set_rng_state(state, number)


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
