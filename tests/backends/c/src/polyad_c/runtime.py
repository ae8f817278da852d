"""Generated C: compiled once for this machine, kept, and called from as many threads as there are processors."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from polyad.backend.c_compiler import Libraries
from polyad.backend.runtime import Launch, Runtime
from polyad.base.shapes_and_strides import Layout, Shape, Strides
from polyad.codegen import CPU, C, DeviceDescription, KernelSource
from polyad.files.compiled import CompiledFolder

if TYPE_CHECKING:
    from polyad.base.device import Device
    from polyad.base.dtypes import DType

    from .backend import CArray, CBackend

LIBRARIES = Libraries(CompiledFolder("c"), ("-O2", *C.flags))


class CRuntime(Runtime):
    """Runs generated C in this process."""

    dialect = C

    def __init__(self, backend: CBackend, device: Device) -> None:
        super().__init__(backend, device)
        self._made = backend.laid_out
        self._units = os.cpu_count() or 1
        self.description = DeviceDescription(CPU, compute_units=self._units, vector_bytes=8)
        self._start_threads()
        os.register_at_fork(after_in_child=self._start_threads)  # threads are not forked

    def _start_threads(self) -> None:
        self._threads = ThreadPoolExecutor(self._units, thread_name_prefix="polyad-c")

    def compile(self, source: KernelSource, what: str) -> Any:
        entry = LIBRARIES.loaded(LIBRARIES.compiled(source.text, what), what)[source.entry]
        entry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_longlong] * 2
        entry.restype = None
        return entry

    def launcher(self, kernel: Any, instances: int, geometry: bytes) -> Launch:
        workers = min(instances, self._units)

        def launch(arrays: Sequence[CArray], numbers: tuple[bytes, ...]) -> None:
            pointers = (ctypes.c_void_p * len(arrays))(*[array.address for array in arrays])
            places = (ctypes.c_char_p * max(1, len(numbers)))(*numbers)
            if workers == 1:
                kernel(pointers, places, geometry, 0, 1)
                return
            calls = [self._threads.submit(kernel, pointers, places, geometry, at, workers) for at in range(1, workers)]
            kernel(pointers, places, geometry, 0, workers)
            for call in calls:
                call.result()

        return launch

    def empty(self, dtype: DType, shape: Shape, steps: Strides) -> CArray:
        return self._made(dtype, shape, steps)

    def layout(self, array: CArray) -> Layout:
        return Layout(array.shape, array.steps, array.offset)

    def same_memory(self, first: CArray, second: CArray) -> bool:
        return first.memory is second.memory
