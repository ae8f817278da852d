"""How bytes travel between the host and a device: in three ways, chosen by the device's memory and by size.

plain   the driver copies, and the host waits. Small transfers, and whenever no other way is open.
mapped  where the device has the host's memory, large transfers are one copy by the host itself.
staged  a device with memory of its own is fed by direct memory access, which needs *pinned* memory: pages that stay
        where they are. A driver that is given other memory first copies it into pinned memory of its own, and lets the
        device wait meanwhile. Here large transfers go in pieces through two pinned blocks, so that the host copies a
        piece while the device takes another.

After `Transfers.write` the host's array may be changed; a staged write does not wait until the device has the last
pieces, since they lie in pinned memory, and a block is used again when its event is complete. After `Transfers.read`
the array is filled.

Each direction is a *lane*: its two blocks, for one transfer at a time. Nobody waits for a lane: if it is busy (another
thread's transfer, or one that this thread was in when the garbage collector or a signal made it do another), or its
blocks cannot be had, the transfer is plain. What breaks off in between leaves a lane as it should be, since an event
says when a block can be used again, whoever used it, and the caller's array is never in the driver's hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from polyad.base.locks import Lock

if TYPE_CHECKING:
    from .device import Device

PIECE = 1 << 22
"""Bytes of a pinned block: a host needs some 400 us to copy them, against 5 to 15 us for what a piece costs besides
(Intel's driver and PoCL). A device has at most four blocks, two a direction."""

STAGED_FROM = 1 << 18
"""Bytes from which a transfer is staged. Reckoned, not measured: so many take 20 us at the 12 GB/s of a bus, and about
twice as long from memory that is not pinned; from here on that saves more than what a piece costs besides."""

MAPPED_FROM = 1 << 24
"""Bytes from which a transfer is mapped. Reading into a fresh array, mapped against plain: with Intel's driver 0.7 to
0.8 of the time at 2**24, 0.4 to 0.5 from 2**25 on; with PoCL as fast from here on, and below up to twice as slow."""

_REFUSED = {
    cl.status_code.MAP_FAILURE,
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.OUT_OF_RESOURCES,
}


class Pinned:
    """A block of host memory that the driver keeps in place, and the event of its last use."""

    __slots__ = ("buffer", "event", "memory")

    def __init__(self, device: Device, nbytes: int) -> None:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        self.buffer = cl.Buffer(device.context, flags, nbytes)
        self.memory, _ = cl.enqueue_map_buffer(
            device.queue, self.buffer, cl.map_flags.READ | cl.map_flags.WRITE, 0, (nbytes,), np.uint8
        )
        self.event: Any = None

    def settle(self) -> None:
        """Wait until the device is done with it."""
        event, self.event = self.event, None  # done with even if the device failed at it
        if event is not None:
            event.wait()


class Lane:
    """The pinned blocks of a direction."""

    __slots__ = ("blocks", "lock")

    def __init__(self) -> None:
        self.lock = Lock()
        self.blocks: list[Pinned] = []

    def ready(self, device: Device, piece: int) -> bool:
        """Whether there are two blocks, after an attempt to make them."""
        try:
            while len(self.blocks) < 2:
                self.blocks.append(Pinned(device, piece))
        except cl.Error as error:
            if error.code not in _REFUSED:
                raise
            return False
        return True


class Transfers:
    """The transfers of a device, for `Device.read` and `Device.write`, which explain what goes wrong here.

    Attributes:
        staged: whether large transfers are staged; they are mapped otherwise.
        piece, staged_from, mapped_from: `PIECE`, `STAGED_FROM` and `MAPPED_FROM`, as they are for this device.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._up, self._down = Lane(), Lane()
        self.staged = not device.shares_host_memory
        self.piece, self.staged_from, self.mapped_from = PIECE, STAGED_FROM, MAPPED_FROM

    @property
    def pinned(self) -> int:
        """The bytes of all pinned blocks; they are in no account of tensors' memory."""
        return sum([block.memory.nbytes for lane in (self._up, self._down) for block in lane.blocks])

    def read(self, host: Any, buffer: cl.Buffer, begin: int) -> None:
        """Fill the dense uint8 array *host* from byte *begin* of *buffer*."""
        nbytes = host.nbytes
        if self.staged:
            if nbytes >= self.staged_from and self._take(self._down, self._read_staged, host, buffer, begin):
                return
        elif nbytes >= self.mapped_from:
            with self._mapped(buffer, cl.map_flags.READ, begin, nbytes) as memory:
                host[:] = memory
            return
        cl.enqueue_copy(self._device.queue, host, buffer, src_offset=begin)

    def write(self, buffer: cl.Buffer, host: Any, begin: int) -> None:
        """Copy the dense uint8 array *host* to byte *begin* of *buffer*."""
        nbytes = host.nbytes
        if self.staged:
            if nbytes >= self.staged_from and self._take(self._up, self._write_staged, host, buffer, begin):
                return
        elif nbytes >= self.mapped_from:
            with self._mapped(buffer, cl.map_flags.WRITE, begin, nbytes) as memory:
                memory[:] = host
            return
        cl.enqueue_copy(self._device.queue, buffer, host, dst_offset=begin)

    def empty_cache(self) -> None:
        """Give pinned blocks back to the driver, but those of a transfer that is under way."""
        if self._device.trouble:
            return  # the driver is not to be asked
        for lane in (self._up, self._down):
            if lane.lock.acquire(blocking=False):
                try:
                    while lane.blocks:
                        lane.blocks[-1].settle()
                        lane.blocks.pop().memory.base.release(self._device.queue)
                finally:
                    lane.lock.release()

    # ------------------------------------------------------------------------------------------------------- staged

    def _take(self, lane: Lane, transfer: Any, host: Any, buffer: cl.Buffer, begin: int) -> bool:
        """Carry *transfer* out if *lane* is free and has its blocks; whether it did."""
        if not lane.lock.acquire(blocking=False):
            return False
        try:
            if not lane.ready(self._device, self.piece):
                return False
            transfer(lane.blocks, host, buffer, begin)
            return True
        finally:
            lane.lock.release()

    def _write_staged(self, blocks: list[Pinned], host: Any, buffer: cl.Buffer, begin: int) -> None:
        queue, size = self._device.queue, blocks[0].memory.nbytes
        for number, start in enumerate(range(0, host.nbytes, size)):
            piece, block = host[start : start + size], blocks[number % 2]
            block.settle()
            pinned = block.memory[: piece.nbytes]
            pinned[:] = piece
            block.event = cl.enqueue_copy(queue, buffer, pinned, dst_offset=begin + start, is_blocking=False)
            queue.flush()  # else a driver may begin with all pieces at the end

    def _read_staged(self, blocks: list[Pinned], host: Any, buffer: cl.Buffer, begin: int) -> None:
        queue, size = self._device.queue, blocks[0].memory.nbytes

        def ask(number: int) -> None:
            block, start = blocks[number % 2], number * size
            block.settle()
            pinned = block.memory[: min(size, host.nbytes - start)]
            block.event = cl.enqueue_copy(queue, pinned, buffer, src_offset=begin + start, is_blocking=False)
            queue.flush()

        count = -(-host.nbytes // size)
        ask(0)
        for number in range(count):
            if number + 1 < count:
                ask(number + 1)
            block, piece = blocks[number % 2], host[number * size : (number + 1) * size]
            block.settle()
            piece[:] = block.memory[: piece.nbytes]

    # ------------------------------------------------------------------------------------------------------- mapped

    def map(self, buffer: cl.Buffer, flags: int, begin: int, nbytes: int) -> Any:
        """*nbytes* of *buffer* as a uint8 array, after all work that was enqueued; its ``base`` is to be released."""
        return cl.enqueue_map_buffer(self._device.queue, buffer, flags, begin, (nbytes,), np.uint8)[0]

    @contextmanager
    def _mapped(self, buffer: cl.Buffer, flags: int, begin: int, nbytes: int) -> Iterator[Any]:
        memory = self.map(buffer, flags, begin, nbytes)
        try:
            yield memory
        finally:
            memory.base.release(self._device.queue)
