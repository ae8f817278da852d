"""Which GPU is meant, and what it is."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..backend import DeviceProperties, waiting
from ..base.device import Device
from ..base.state import state
from ..devices import registry, streams
from ..errors import ArgumentError, ArgumentTypeError, BackendError, SettingError, safe_repr
from ..tensor import Tensor


def named(device: Any) -> Device:
    """The cuda device that *device* (an index, a device, or None for the current one) means."""
    if device is None:
        return registry.resolve_device("cuda")
    if isinstance(device, int) and not isinstance(device, bool):
        return registry.resolve_device(Device("cuda", device))
    if not isinstance(device, (str, Device)):
        raise ArgumentTypeError(f"cuda: device is {safe_repr(device)}", fix='pass an index, "cuda:0" or None')
    found = registry.resolve_device(device)
    if found.type != "cuda":
        raise ArgumentError(f"cuda: {found} is no cuda device", fix='pass an index, "cuda:0" or None')
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


def init() -> None:
    """Look for devices now. Raises RuntimeError if there is none. Every other function does it when it is needed."""
    named(None)


def is_initialized() -> bool:
    """Whether device type "cuda" is loaded and has a device.

    >>> import polyad
    >>> polyad.cuda.is_initialized() in (True, False)
    True
    """
    return is_available()


def current_device() -> int:
    """The index that "cuda" without an index stands for. Raises RuntimeError if there is no cuda device.

    >>> import polyad
    >>> polyad.cuda.current_device() if polyad.cuda.is_available() else 0
    0
    """
    return registry.resolve_device("cuda").index or 0


def set_device(device: Any) -> None:
    """Let "cuda" without an index stand for *device* in this thread; a negative index changes nothing.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     polyad.cuda.set_device(0)
    """
    if isinstance(device, int) and device < 0:
        return
    registry.set_current(named(device))


class device:
    """A context in which "cuda" without an index stands for *device*, in this thread; None changes nothing.

    >>> import polyad
    >>> with polyad.cuda.device(None):
    ...     x = polyad.zeros(1)
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else named(device).index or 0
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """As `device`, with the device of a tensor; a tensor that is on no cuda device changes nothing.

    >>> import polyad
    >>> with polyad.cuda.device_of(polyad.zeros(1, device="cpu")):
    ...     x = polyad.zeros(1)
    """

    def __init__(self, obj: Any) -> None:
        if not isinstance(obj, Tensor):
            raise ArgumentTypeError(f"cuda.device_of: obj is {safe_repr(obj)}", fix="pass a tensor")
        super().__init__(obj.device if obj.device.type == "cuda" else None)


def get_device_name(device: Any = None) -> str:
    """The hardware's name. Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> name = polyad.cuda.get_device_name() if polyad.cuda.is_available() else "none"
    """
    return get_device_properties(device).name


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What the hardware is: name, memory, multiprocessors. Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> memory = polyad.cuda.get_device_properties().total_memory if polyad.cuda.is_available() else 0
    """
    return registry.get("cuda").properties(named(device))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """NVIDIA's compute capability, (major, minor). Raises RuntimeError if there is no such device."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: those of the devices that are there.

    >>> import polyad
    >>> polyad.cuda.get_arch_list() if not polyad.cuda.is_available() else []
    []
    """
    found = {get_device_capability(index) for index in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether *device* reaches the memory of *peer_device* by itself.

    Raises RuntimeError if one of them is not there.
    """
    return registry.get("cuda").peers(named(device), named(peer_device))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16; with *including_emulation* also by way of float32.

    >>> import polyad
    >>> polyad.cuda.is_bf16_supported() == polyad.cuda.is_available()
    True
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Whether the current device multiplies float32 in TF32.

    >>> import polyad
    >>> polyad.cuda.is_tf32_supported() and not polyad.cuda.is_available()
    False
    """
    return is_available() and get_device_capability() >= (8, 0)


def ipc_collect() -> None:
    """Do nothing: no memory is shared between processes."""


def is_current_stream_capturing() -> bool:
    """Whether work of the current stream is captured into a graph, see `polyad.cuda.CUDAGraph`; False without a device.

    >>> import polyad
    >>> polyad.cuda.is_current_stream_capturing()
    False
    """
    if state.capturing is None:
        return False
    stream = streams.current_stream(named(None))
    return streams.streams_of(stream.device).capturing(stream._handle)


def synchronize(device: Any = None) -> None:
    """Wait until all work on *device* (an index, a device, or the current one) is done.

    Raises RuntimeError if there is no such device.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     polyad.cuda.synchronize()
    """
    found = named(device)
    registry.get("cuda").synchronize(found)


def get_sync_debug_mode() -> int:
    """Whether waiting for a GPU goes unsaid (0), warns (1) or raises (2).

    >>> import polyad
    >>> polyad.cuda.get_sync_debug_mode()
    0
    """
    return waiting.mode()


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Warn (1, "warn"), or raise RuntimeError (2, "error"), where an op or a read of values is about to wait for a GPU;
    0 and "default" end it. It holds for all threads; ``synchronize`` of a device, stream or event is not concerned.

    Raises RuntimeError for another mode, TypeError for what is neither a number nor a name.

    >>> import polyad
    >>> polyad.cuda.set_sync_debug_mode("error")
    >>> polyad.cuda.get_sync_debug_mode()
    2
    >>> polyad.cuda.set_sync_debug_mode("default")
    """
    if isinstance(debug_mode, str):
        known = debug_mode in waiting.MODES
        number = waiting.MODES.index(debug_mode) if known else -1
    elif isinstance(debug_mode, int):
        known, number = 0 <= debug_mode < len(waiting.MODES), int(debug_mode)
    else:
        raise ArgumentTypeError(
            f"cuda.set_sync_debug_mode: debug_mode is {safe_repr(debug_mode)}", fix='pass "default", "warn" or "error"'
        )
    if not known:
        raise SettingError(
            f"cuda.set_sync_debug_mode: {safe_repr(debug_mode)} is no mode",
            fix='pass "default", "warn" or "error", or 0, 1 or 2',
        )
    waiting.set_mode(number)
