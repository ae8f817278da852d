"""What is in a device's memory, and the handles that a program holds.

The two sides share nothing but numbers: a handle has an address, `Block` is what lies there. Only the streams' threads
look into blocks. Addresses are never used twice, so one that was freed is known as such for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyad.base.dtypes import DType
from polyad.errors import KernelFailure
from polyad.interop.numpy import numpy_dtype

if TYPE_CHECKING:
    from .device import FakeDevice
    from .queue import Queue

FRESH, FREED = 0xA5, 0xDE
"""What the bytes of new and of freed memory are filled with."""


class Memory:
    """An allocation, as the program holds it; freeing it is letting go of it.

    Attributes:
        address, nbytes: where it is on its device, and how much.
        stream: whose work comes before its end.
    """

    __slots__ = ("address", "device", "nbytes", "stream")

    def __init__(self, device: FakeDevice, address: int, nbytes: int, stream: Queue) -> None:
        self.device, self.address, self.nbytes, self.stream = device, address, nbytes, stream

    def __del__(self) -> None:
        self.device.release(self.address, self.stream)


class FakeArray:
    """A strided handle; it cannot be read on the host. Offset and strides count bytes."""

    __slots__ = ("dtype", "memory", "ndim", "offset", "shape", "strides")

    def __init__(
        self, memory: Memory, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> None:
        self.memory, self.dtype, self.shape, self.strides, self.offset = memory, dtype, shape, strides, offset
        self.ndim = len(shape)

    @property
    def device(self) -> FakeDevice:
        """Where it is."""
        return self.memory.device

    def window(self) -> Window:
        """What a command takes along: numbers, no handle."""
        return Window(self.memory.address, self.offset, self.dtype, self.shape, self.strides)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"an array of {self.device.name} was read on the host; only to_host can")


class Window(NamedTuple):
    """Where a command reads or writes."""

    address: int
    offset: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Block:
    """The bytes of an allocation and, for each, whether anything was ever written there."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.full(nbytes, FRESH, np.uint8)
        self.written = np.zeros(nbytes, np.bool_)

    def values(self, window: Window) -> np.ndarray:
        """The elements of *window*, in place."""
        return np.ndarray(window.shape, numpy_dtype(window.dtype), self.bytes, window.offset, window.strides)

    def marks(self, window: Window) -> np.ndarray:
        """Whether each byte of each element was written: the shape of *window*, and the bytes of an element."""
        size = window.dtype.itemsize
        return np.ndarray((*window.shape, size), np.bool_, self.written, window.offset, (*window.strides, 1))

    def poison(self) -> None:
        """Fill what is freed, so that whoever still looks at it sees it."""
        self.bytes.fill(FREED)
        self.written.fill(False)


class Blocks:
    """A device's memory by address, on the queue's side."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._blocks: dict[int, Block] = {}

    def make(self, address: int, nbytes: int) -> None:
        self._blocks[address] = Block(nbytes)

    def free(self, address: int) -> None:
        block = self._blocks.pop(address, None)
        if block is None:
            raise self._failure("memory is freed that is not there", address)
        block.poison()

    def at(self, window: Window) -> Block:
        """The block of *window*; raises KernelFailure if it was freed."""
        block = self._blocks.get(window.address)
        if block is None:
            raise self._failure("memory is used after it was freed", window.address)
        return block

    def read(self, window: Window) -> np.ndarray:
        """The elements of *window*, which must have been written; nobody may write them through this."""
        block = self.at(window)
        if not block.marks(window).all():
            unwritten = int((~block.marks(window).all(axis=-1)).sum())
            raise self._failure(
                f"a kernel reads {unwritten} elements of {window.dtype.name} {window.shape} that nobody has written",
                window.address,
                "write it first, or make it with zeros; if the program does, polyad misuses the device: report it",
            )
        values = block.values(window)
        values.flags.writeable = False
        return values

    def write(self, window: Window, values: Any) -> None:
        """Put *values* of the same dtype, or a number, into *window*."""
        block = self.at(window)
        block.values(window)[...] = values
        block.marks(window)[...] = True

    def give_up(self, window: Window) -> None:
        """Let what failed to be computed count as written: one failure is not reported as many."""
        self.at(window).marks(window)[...] = True

    def _failure(self, problem: str, address: int, fix: str = "report it: polyad misused the device") -> KernelFailure:
        return KernelFailure(f"{self.name}: {problem}", notes={"address": hex(address)}, fix=fix)
