"""What a device's memory holds: a backend's own account, and the tensors that live on it.

A backend whose allocator keeps an account gives it as `MemoryStats`. Which tensors hold the memory, core finds out by
itself for every backend, from the objects that are alive; that takes a while, so it is asked for only when memory has
run out or the user wants to know.
"""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..base.device import Device
from ..errors import OutOfMemory

tensor_classes: list[type] = []
"""The class whose objects hold memory; put here by the module that defines it, which this layer does not know."""


failed: Counter[Device] = Counter()
"""How often there was no room on a device."""


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """A device's memory, in bytes.

    Attributes:
        allocated: held by arrays, with what rounding adds.  peak_allocated: the most since the last reset.
        reserved: held from the driver, the allocator's cache included.  peak_reserved: likewise.
        blocks: how many pieces of memory are in use.  requests: how many were ever asked for.
    """

    allocated: int
    peak_allocated: int
    reserved: int
    peak_reserved: int
    blocks: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Holding:
    """Tensors of a shape and dtype that are alive: how many distinct memories they have, and their bytes together."""

    shape: tuple[int, ...]
    dtype: Any
    count: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.count} x {self.dtype.name} {self.shape}: {self.bytes:,} bytes"


def holdings(device: Device) -> list[Holding]:
    """What tensors hold on *device*, the largest first; memory that several tensors share counts once."""
    classes = tuple(tensor_classes)
    counts: Counter[tuple[tuple[int, ...], Any]] = Counter()
    total: Counter[tuple[tuple[int, ...], Any]] = Counter()
    seen: set[int] = set()
    for found in gc.get_objects():
        if not issubclass(type(found), classes):  # a proxy may lie about its __class__
            continue
        type_ = getattr(found, "_type", None)
        if type_ is None or type_.device != device:
            continue
        storage = found._storage
        owner = id(found._array) if storage is None else id((storage.origin or storage)._array)
        if owner in seen:
            continue
        seen.add(owner)
        shape = tuple(found._array.shape)
        bytes_held = storage.nbytes if storage is not None else _size(shape) * type_.dtype.itemsize
        counts[shape, type_.dtype] += 1
        total[shape, type_.dtype] += bytes_held
    return [Holding(*key, counts[key], total[key]) for key, _ in total.most_common()]


def _size(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def held_by(device: Device, most: int = 5) -> str:
    """The largest `holdings` in one line each, for an error message."""
    found = holdings(device)
    lines = [str(holding) for holding in found[:most]]
    if len(found) > most:
        lines.append(f"{len(found) - most} other shapes: {sum(holding.bytes for holding in found[most:]):,} bytes")
    return "; ".join(lines) or "no tensor"


def out_of_memory(
    device: Device, asked: int | None, why: str, stats: MemoryStats | None = None, fix: str | None = None
) -> OutOfMemory:
    """The error for an allocation that failed, the same from every backend.

    It begins as PyTorch's does, "CUDA out of memory.", by which programs know that a smaller batch may do.

    Args:
        device: where.
        asked: the bytes that were wanted; None if a library wanted them and did not say how many.
        why: what stood against it: the device's limit, the driver's words.
        stats: the allocator's account at that moment, if it keeps one.
        fix: what the user can do, if there is something better than to use less.

    >>> from polyad import device
    >>> print(out_of_memory(device("cpu"), 4096, "the limit is 1,000 bytes", MemoryStats(640, 640, 896, 896, 1, 1)))
    cpu out of memory. cpu: there is no memory for 4,096 bytes: the limit is 1,000 bytes
        in use    640 bytes in 1 block
        reserved  896 bytes
        held by   ...
        fix       use smaller batches, or delete tensors that are not needed any more
    """
    failed[device] += 1
    notes = {}
    if stats is not None:
        notes["in use"] = f"{stats.allocated:,} bytes in {stats.blocks} block{'' if stats.blocks == 1 else 's'}"
        notes["reserved"] = f"{stats.reserved:,} bytes"
    notes["held by"] = held_by(device)
    return OutOfMemory(
        f"{'CUDA' if device.type == 'cuda' else device.type} out of memory. "
        f"{device}: there is no memory{'' if asked is None else f' for {asked:,} bytes'}: {why}",
        notes=notes,
        fix=fix or "use smaller batches, or delete tensors that are not needed any more",
    )
