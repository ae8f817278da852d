"""NVIDIA GPUs under PyTorch's path ``polyad.cuda``: a view of whatever backend serves device type "cuda".

Questions answer "none" without a device; what needs a device raises the registry's error, which says what to
install.

    devices.py  which device is meant, and what it is
    graphs.py   work that is captured, and replayed
    memory.py   what tensors and the allocator hold
    random.py   seeds
    nvtx.py     names for NVIDIA's profilers
    profiler.py when they are to look
    amp.py      PyTorch's older names for mixed precision
"""

from __future__ import annotations

import importlib
from typing import Any

from ..compatibility.absent import stand_in
from ..devices import streams
from ..tensor.legacy_types import types_on
from . import random as random
from .devices import (
    can_device_access_peer as can_device_access_peer,
    current_device as current_device,
    device as device,
    device_count as device_count,
    device_of as device_of,
    get_arch_list as get_arch_list,
    get_device_capability as get_device_capability,
    get_device_name as get_device_name,
    get_device_properties as get_device_properties,
    get_sync_debug_mode as get_sync_debug_mode,
    init as init,
    ipc_collect as ipc_collect,
    is_available as is_available,
    is_bf16_supported as is_bf16_supported,
    is_current_stream_capturing as is_current_stream_capturing,
    is_initialized as is_initialized,
    is_tf32_supported as is_tf32_supported,
    named as _device,
    set_device as set_device,
    set_sync_debug_mode as set_sync_debug_mode,
    synchronize as synchronize,
)
from .graphs import (
    CUDAGraph as CUDAGraph,
    graph as graph,
    graph_pool_handle as graph_pool_handle,
    make_graphed_callables as make_graphed_callables,
)
from .memory import (
    OutOfMemoryError as OutOfMemoryError,
    device_memory_used as device_memory_used,
    empty_cache as empty_cache,
    get_per_process_memory_fraction as get_per_process_memory_fraction,
    max_memory_allocated as max_memory_allocated,
    max_memory_cached as max_memory_cached,
    max_memory_reserved as max_memory_reserved,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated,
    memory_cached as memory_cached,
    memory_reserved as memory_reserved,
    memory_snapshot as memory_snapshot,
    memory_stats as memory_stats,
    memory_stats_as_nested_dict as memory_stats_as_nested_dict,
    memory_summary as memory_summary,
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_cached as reset_max_memory_cached,
    reset_peak_memory_stats as reset_peak_memory_stats,
    set_per_process_memory_fraction as set_per_process_memory_fraction,
)
from .random import (
    get_rng_state as get_rng_state,
    get_rng_state_all as get_rng_state_all,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    manual_seed_all as manual_seed_all,
    seed as seed,
    seed_all as seed_all,
    set_rng_state as set_rng_state,
    set_rng_state_all as set_rng_state_all,
)


def __getattr__(name: str) -> Any:
    if name in ("amp", "nvtx", "profiler"):  # loaded when wanted: amp brings the optimizers' scaler
        return importlib.import_module(f"{__name__}.{name}")
    if name == "default_generators":  # one for each device, which may not be looked for at import
        return random.generators()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def cudart() -> Any:
    """What PyTorch's programs ask for ``cudart().cudaProfilerStart()`` and ``cudaProfilerStop``.

    Raises RuntimeError if there is no cuda device.

    >>> import polyad
    >>> if polyad.cuda.is_available():
    ...     _ = polyad.cuda.cudart().cudaProfilerStart()
    """
    init()
    return importlib.import_module(f"{__name__}.profiler").Runtime()


globals().update(types_on("cuda"))  # FloatTensor and its like

MemPool = stand_in("cuda.MemPool")
use_mem_pool = stand_in("cuda.use_mem_pool")
clock_rate = stand_in("cuda.clock_rate")
list_gpu_processes = stand_in("cuda.list_gpu_processes")
memory_usage = stand_in("cuda.memory_usage")
power_draw = stand_in("cuda.power_draw")
temperature = stand_in("cuda.temperature")
utilization = stand_in("cuda.utilization")


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
