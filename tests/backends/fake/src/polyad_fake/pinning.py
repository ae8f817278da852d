"""Host memory that the device copies from and to, and what a program may do wrong with it, always noticed.

A copy is over for the program when it has waited for it, however soon the device was done. Until then a source must
stay as it is, and a target shows the pattern of new memory.
"""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import DType
from polyad.errors import KernelFailure
from polyad.interop.numpy import numpy_dtype

from .memory import FRESH


class Pinned(bytearray):
    """Memory that is pinned."""


def allocate(count: int, dtype: DType) -> np.ndarray:
    """An array over new pinned memory."""
    return np.frombuffer(Pinned([FRESH] * (count * dtype.itemsize)), numpy_dtype(dtype))


def is_pinned(data: object) -> bool:
    """Whether an array, or what it is a view of, lies in pinned memory."""
    while isinstance(data, np.ndarray):
        data = data.base
        if isinstance(data, memoryview):
            data = data.obj
    return isinstance(data, Pinned)


class Upload:
    """A copy from pinned memory.

    Attributes:
        taken: what the device gets: the source as it was when the copy was asked for.
    """

    def __init__(self, source: np.ndarray, device: str) -> None:
        self.source, self.taken, self.device = source, source.copy(), device

    def end(self) -> None:
        """The program has waited. Raises KernelFailure if it changed the source before that."""
        if self.source.tobytes() != self.taken.tobytes():
            raise KernelFailure(
                f"{self.device}: pinned memory {tuple(self.source.shape)} was changed while a copy from it was under "
                "way",
                fix="wait before you write to it again: stream.synchronize(), or an event recorded after the copy",
            )


class Download:
    """A copy into pinned memory.

    Attributes:
        data: the memory; the values are there after `end`.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DType) -> None:
        self.data = allocate(int(np.prod(shape)), dtype).reshape(shape)
        self._arrived: np.ndarray | None = None

    def arrive(self, values: np.ndarray) -> None:
        """The device is done."""
        self._arrived = values.copy()

    def end(self) -> None:
        """The program has waited."""
        if self._arrived is not None:
            self.data[...] = self._arrived
