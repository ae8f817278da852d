"""The runtime protocol on NumPy's arrays: what core generates runs in the engine's threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from polyad.backend import Backend
from polyad.backend.registry import get
from polyad.backend.runtime import Launch, Runtime
from polyad.codegen import CPU, C, DeviceDescription, KernelSource
from polyad.device import Device
from polyad.dtypes import DType
from polyad.interop.numpy import numpy_dtype
from polyad.layout import Layout, Shape, Strides

from .compiler import compiled, vector_math
from .engine import AS_WRITTEN, engine, entry, text

_UNITS = 4
"""In how many threads' parts work is cut, whatever threads there are: results must not depend on that."""

_UNROLLED = ("-funroll-loops",)
"""Long loops of a few instructions: several vectors a turn are 3 to 8 % quicker, for as much more to compile."""

_DIALECT = replace(
    C,
    prologue=f"{C.prologue}{text('functions')}#define expf polyad_exp\n#define to_half polyad_half\n",
    functions={"times_plus_float32": "polyad_fma", "erfc_float32": "polyad_erfc"},
)


def laid_out(layout: tuple[Shape, Strides], dtype: np.dtype[Any]) -> Any:
    """A new array without gaps, of a shape and strides in bytes."""
    shape, strides = layout
    return np.ndarray(shape, dtype, np.empty(math.prod(shape), dtype), 0, strides)


class NativeRuntime(Runtime):
    """Runs generated C on NumPy's arrays."""

    dialect = _DIALECT
    description = DeviceDescription(CPU, compute_units=_UNITS)

    def __init__(self, backend: Backend, device: Device) -> None:
        self.made: list[Any] | None = None
        """What `empty` gave since a call is watched; None if none is, or if it did more than allocate and launch."""
        super().__init__(backend, device)

    @property
    def backend(self) -> Backend:
        """Device "cpu". What it is asked to do is not seen by those who watch a call."""
        self.made = None
        return self._backend

    @backend.setter
    def backend(self, backend: Backend) -> None:
        self._backend = backend

    def compile(self, source: KernelSource, what: str) -> int:
        return entry(compiled(source.text, what, (*vector_math(), *AS_WRITTEN, *_UNROLLED)), source.entry)

    def launcher(self, kernel: int, instances: int, geometry: bytes) -> Launch:
        launch: Launch = engine().launcher(kernel, instances, geometry)
        return launch

    def empty(self, dtype: DType, shape: Shape, steps: Strides) -> Any:
        array = np.empty(shape, numpy_dtype(dtype))
        strides = tuple([step * dtype.itemsize for step in steps])
        if array.strides != strides and array.size:
            array = laid_out((shape, strides), array.dtype)
        if self.made is not None:
            self.made.append(array)
        return array

    def layout(self, array: Any) -> Layout:
        size = array.itemsize
        return Layout(array.shape, tuple([stride // size for stride in array.strides]), 0)

    def key(self, arrays: Sequence[Any]) -> Any:
        return tuple([(array.shape, array.strides) for array in arrays])

    def same_memory(self, first: Any, second: Any) -> bool:
        return bool(np.may_share_memory(first, second))

    def same_place(self, first: Any, second: Any) -> bool:
        return first is second or (
            first.shape == second.shape
            and first.strides == second.strides
            and first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
        )


@cache
def runtime() -> NativeRuntime:
    """The runtime of device "cpu"."""
    return NativeRuntime(get("cpu"), Device("cpu"))
