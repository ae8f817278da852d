"""The runtime protocol on NumPy's arrays: what core generates runs in the engine's threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

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

_DIALECT = replace(
    C,
    prologue=f"{C.prologue}{text('functions')}#define expf polyad_exp\n#define to_half polyad_half\n",
    functions={"times_plus_float32": "polyad_fma", "erfc_float32": "polyad_erfc"},
)


class NativeRuntime(Runtime):
    """Runs generated C on NumPy's arrays."""

    dialect = _DIALECT
    description = DeviceDescription(CPU, compute_units=_UNITS)

    def compile(self, source: KernelSource, what: str) -> int:
        return entry(compiled(source.text, what, (*vector_math(), *AS_WRITTEN)), source.entry)

    def launcher(self, kernel: int, instances: int, geometry: bytes) -> Launch:
        launch: Launch = engine().launcher(kernel, instances, geometry)
        return launch

    def empty(self, dtype: DType, shape: Shape, steps: Strides) -> Any:
        array = np.empty(shape, numpy_dtype(dtype))
        size = dtype.itemsize
        strides = tuple([step * size for step in steps])
        if array.strides == strides or not array.size:
            return array
        return np.ndarray(shape, array.dtype, array.reshape(-1), 0, strides)

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
