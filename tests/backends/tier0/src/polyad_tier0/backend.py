"""Tier 0 on a bytearray, and nothing beyond it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Backend
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.devices import registry
from polyad.interop.numpy import numpy_dtype

ROOM = 1 << 30
"""More bytes than this are refused in one piece."""


class Stored:
    """A strided handle of bytes; offset and strides count bytes."""

    __slots__ = ("dtype", "memory", "ndim", "offset", "shape", "strides")

    def __init__(
        self, memory: bytearray, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> None:
        self.memory, self.dtype, self.shape, self.offset = memory, dtype, tuple(shape), offset * dtype.itemsize
        self.strides = tuple(stride * dtype.itemsize for stride in strides)
        self.ndim = len(shape)

    def values(self) -> np.ndarray:
        """The elements, in place."""
        return np.ndarray(self.shape, numpy_dtype(self.dtype), self.memory, self.offset, self.strides)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("an array of tier0 was read on the host; only to_host can")


class StorageOnly(Backend):
    """Device "tier0". Numbers are converted as the host converts them."""

    def device_count(self) -> int:
        return 1

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Stored:
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes > ROOM:
            raise MemoryError(f"{nbytes} bytes in one piece, where {ROOM} are the most")
        return Stored(bytearray(nbytes), dtype, shape, contiguous_strides(shape), 0)

    def from_host(self, data: Any, dtype: DType, device: Device) -> Stored:
        made = self.empty(data.shape, dtype, device)
        made.values()[...] = data
        return made

    def to_host(self, array: Stored) -> Any:
        return array.values().copy(order="C")

    def copy(self, target: Stored, source: Stored) -> None:
        registry.get("cpu").copy(target.values(), source.values().copy())  # a copy, since the two may overlap

    def fill(self, target: Stored, value: bool | int | float | complex) -> None:
        registry.get("cpu").fill(target.values(), value)

    def root(self, array: Stored) -> bytearray:
        return array.memory

    def as_strided(
        self, root: bytearray, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> Stored:
        return Stored(root, dtype, shape, strides, offset)

    def data_ptr(self, array: Stored) -> int:
        return int(array.values().__array_interface__["data"][0])
