"""The part of `polyad.backend.runtime` that is the same on all devices whose arrays are `array.Array`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from polyad.backend.runtime import Runtime
from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import Layout, Shape, Strides

from .array import Array


class ArrayRuntime(Runtime):
    """A runtime over `Array`; a device's own adds ``compile``, ``launcher``, and ``_take``: its pool's ``take``."""

    _take: Callable[[int], Any]

    def empty(self, dtype: DType, shape: Shape, strides: Strides) -> Array:
        count = 1
        for size in shape:
            count *= size
        return Array(self._take(count * dtype.itemsize), dtype, shape, strides, 0)

    def layout(self, array: Array) -> Layout:
        return Layout(array.shape, array.steps, array.offset)

    def same_memory(self, first: Array, second: Array) -> bool:
        return first.block is second.block

    def key(self, arrays: Sequence[Array]) -> Hashable:
        return tuple([part for array in arrays for part in (array.shape, array.steps, array.offset)])
