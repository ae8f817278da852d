"""The runtime protocol on NumPy's arrays: what core generates runs in the engine's threads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from polyad.backend import Backend
from polyad.backend.choosing import or_other
from polyad.backend.interface import Signature, TensorType
from polyad.backend.runtime import Launch, Runtime
from polyad.base.device import Device
from polyad.base.dtypes import DType, float64
from polyad.base.shapes_and_strides import Layout, Shape, Strides
from polyad.devices.registry import get
from polyad.interop.numpy import numpy_dtype

from .choosing import Call, chooser, least, sized
from .compiler import compiled, vector_math
from .engine import AS_WRITTEN, engine, entry
from .measured import least_elements
from .sources import text

if TYPE_CHECKING:
    from polyad.codegen import DeviceDescription, Dialect, KernelSource

_UNITS = 4
"""In how many threads' parts work is cut, whatever threads there are: results must not depend on that."""

_UNROLLED = ("-funroll-loops",)
"""Long loops of a few instructions: several vectors a turn are 3 to 8 % quicker, for as much more to compile."""


def laid_out(layout: tuple[Shape, Strides], dtype: np.dtype[Any]) -> Any:
    """A new array without gaps, of a shape and strides in bytes."""
    shape, strides = layout
    return np.ndarray(shape, dtype, np.empty(math.prod(shape), dtype), 0, strides)


class Watch:
    """What a thread asks of the runtime during a call.

    Attributes:
        made: what `NativeRuntime.empty` gave.
        alone: whether it asked for nothing else but launches.
    """

    def __init__(self) -> None:
        self.thread = get_ident()
        self.made: list[Any] = []
        self.alone = True


class NativeRuntime(Runtime):
    """Runs generated C on NumPy's arrays."""

    def __init__(self, backend: Backend, device: Device) -> None:
        self.watch: Watch | None = None
        """Of the thread that has the turn."""
        self.turn = Lock()
        """Held while a call is watched: of several calls at once, or of calls within a call, only the first is."""
        super().__init__(backend, device)

    @property
    def backend(self) -> Backend:
        """Device "cpu". What it is asked to do is not seen by those who watch a call."""
        watch = self.watch
        if watch is not None and watch.thread == get_ident():
            watch.alone = False
        return self._backend

    @backend.setter
    def backend(self, backend: Backend) -> None:
        self._backend = backend

    @cached_property
    def dialect(self) -> Dialect:  # type: ignore[override]
        """C, with functions of our own."""
        from polyad.codegen import C  # imported when a first kernel is generated

        return replace(
            C,
            prologue=f"{C.prologue}{text('common/vector_math.h')}"
            "#define expf polyad_exp\n#define to_half polyad_half\n#define from_half polyad_from_half\n",
            functions={
                "times_plus_float32": "polyad_fma",
                "erfc_float32": "polyad_erfc",
                "fmod_float32": "polyad_fmod",
            },
        )

    @cached_property
    def description(self) -> DeviceDescription:  # type: ignore[override]
        """The processor."""
        from polyad.codegen import CPU, DeviceDescription

        return DeviceDescription(CPU, compute_units=_UNITS)

    def pays_from(self, op: str, kind: str, types: Signature) -> int | None:
        """As was measured."""
        from .supplies import written

        double = any(isinstance(entry, TensorType) and entry.dtype is float64 for entry in types)
        usual = None if op in written() else least_elements(op, kind, double)
        return least(usual) if usual is not None and sized(types) else None

    def choice(
        self, make: Callable[[], Call | None], least: int, places: Sequence[int], other: Call, into: Call
    ) -> Call:
        """By the engine, which replays calls."""
        from .replay import Replays

        replays = Replays()
        return chooser(or_other(lambda: replays.of(make()), into), least, places, other, into, replays.calls)

    def forget_watch(self) -> None:
        """To be called in a process that was forked, in which the thread that watched does not run."""
        if self.watch is not None:
            self.watch.alone = False
        self.watch = None
        self.turn = Lock()
        engine().watch(None)

    def compile(self, source: KernelSource, what: str) -> int:
        return entry(compiled(source.text, what, (*vector_math(), *AS_WRITTEN, *_UNROLLED)), source.entry)

    def launcher(self, kernel: int, instances: int, geometry: bytes) -> Launch:
        launch: Launch = engine().launcher(kernel, instances, geometry)
        return launch

    def empty(self, dtype: DType, shape: Shape, strides: Strides) -> Any:
        array = np.empty(shape, numpy_dtype(dtype))
        in_bytes = tuple([stride * dtype.itemsize for stride in strides])
        if array.strides != in_bytes and array.size:
            array = laid_out((shape, in_bytes), array.dtype)
        watch = self.watch
        if watch is not None and watch.thread == get_ident():
            watch.made.append(array)
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
    made = NativeRuntime(get("cpu"), Device("cpu"))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.forget_watch)
    return made
