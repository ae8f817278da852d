"""The memory of GPUs: what tensors hold, what the allocator keeps, what is free."""

from __future__ import annotations

from typing import Any

from .. import accelerator
from ..backend.memory import held_by
from ..base.state import warn_user
from ..devices import registry
from ..errors import ArgumentError, NotSupported, OutOfMemory, safe_repr
from .devices import is_available, named

OutOfMemoryError = OutOfMemory


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
    return accelerator.memory_allocated(named(device)) if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most that `memory_allocated` has been; 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.max_memory_allocated() >= polyad.cuda.memory_allocated()
    True
    """
    return accelerator.max_memory_allocated(named(device)) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator of *device* holds, those it keeps for later included; 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.memory_reserved() >= 0
    True
    """
    return accelerator.memory_reserved(named(device)) if is_available() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most that `memory_reserved` has been; 0 without a cuda device.

    >>> import polyad
    >>> polyad.cuda.max_memory_reserved() >= polyad.cuda.memory_reserved()
    True
    """
    return accelerator.max_memory_reserved(named(device)) if is_available() else 0


def memory_cached(device: Any = None) -> int:
    """As `memory_reserved`, PyTorch's older name."""
    warn_user("cuda.memory_cached: renamed to cuda.memory_reserved", FutureWarning)
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """As `max_memory_reserved`, PyTorch's older name."""
    warn_user("cuda.max_memory_cached: renamed to cuda.max_memory_reserved", FutureWarning)
    return max_memory_reserved(device)


def memory_stats(device: Any = None) -> dict[str, int]:
    """The account of the allocator of *device* under PyTorch's keys; empty without a cuda device.

    >>> import polyad
    >>> sorted(polyad.cuda.memory_stats())[:1] in ([], ["active.all.allocated"])
    True
    """
    return accelerator.memory_stats(named(device)) if is_available() else {}


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """As `memory_stats`, the keys' parts as dicts in dicts; empty without a cuda device.

    >>> import polyad
    >>> sorted(polyad.cuda.memory_stats_as_nested_dict())[:1] in ([], ["active"])
    True
    """
    nested: dict[str, Any] = {}
    for key, value in memory_stats(device).items():
        *parents, last = key.split(".")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return nested


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The account of the allocator of *device* as a text, with the largest holders unless it is *abbreviated*.

    Raises RuntimeError if there is no such device.
    """
    found = named(device)
    lines = [f"{found}", *(f"    {key:<32} {value:>20,}" for key, value in memory_stats(found).items())]
    if not abbreviated:
        lines.append(f"    held by  {held_by(found)}")
    return "\n".join(lines)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin at what is held now. Raises RuntimeError if there is no such device."""
    accelerator.reset_peak_memory_stats(named(device))


def reset_max_memory_allocated(device: Any = None) -> None:
    """As `reset_peak_memory_stats`, PyTorch's older name."""
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """As `reset_peak_memory_stats`, PyTorch's older name."""
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing but check *device*: the number of allocations is counted from the start."""
    named(device)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The bytes that are free on *device*, for every program, and all that it has.

    Raises RuntimeError if there is no such device.
    """
    return accelerator.get_memory_info(named(device))


def device_memory_used(device: Any = None) -> int:
    """The bytes of *device* that are in use, by whichever program. Raises RuntimeError if there is no such device."""
    free, total = mem_get_info(device)
    return total - free


_fractions: dict[Any, float] = {}


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let the allocator hold at most *fraction* of the memory of *device*: a number from 0 to 1.

    Raises ValueError for another number, RuntimeError if there is no such device.
    """
    found = named(device)
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 <= fraction <= 1:
        raise ArgumentError(
            f"cuda.set_per_process_memory_fraction: fraction is {safe_repr(fraction)}", fix="pass a number from 0 to 1"
        )
    backend = registry.get("cuda")
    backend.limit_memory(found, int(backend.properties(found).total_memory * fraction))
    _fractions[found] = float(fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """What `set_per_process_memory_fraction` last said of *device*, 1.0 if nothing.

    Raises RuntimeError if there is no such device.
    """
    return _fractions.get(named(device), 1.0)


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """Raises NotImplementedError: blocks of memory are not listed one by one."""
    raise NotSupported(
        "cuda.memory_snapshot: blocks of memory are not listed one by one", fix="use polyad.cuda.memory_summary()"
    )
