"""Device "cudahost": memory of the host, and the kernels that core generates for GPUs, as CUDA C.

Every launch runs on all of `SCHEDULES`, from the same memory; results that differ are an error. What threads do is
slow here, so the GPU that the generator is told of is a small one.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from polyad_c.backend import CArray, CBackend
from polyad_cuda_on_host import SCHEDULES, BuildError, Module, build, compiler

from polyad.backend import KernelTable
from polyad.backend.runtime import Launch, Runtime
from polyad.base.device import Device
from polyad.base.shapes_and_strides import Layout
from polyad.codegen import CUDA_C, GPU, DeviceDescription, KernelSource
from polyad.codegen.kernels import generated_kernels
from polyad.errors import CompilerFailure

if TYPE_CHECKING:
    from polyad.base.dtypes import DType
    from polyad.base.shapes_and_strides import Shape, Strides

DESCRIPTION = DeviceDescription(GPU, compute_units=2, max_local_size=1024)
BLOCK = 128
ALIGNED = 16


class HostBackend(CBackend):
    """Device "cudahost"."""

    def device_count(self) -> int:
        return 0 if compiler() is None else 1

    def probe(self) -> str:
        return "" if compiler() else "there is no g++ on PATH, or the machine is no x86-64 of a Unix"

    def laid_out(self, dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...]) -> CArray:
        return _aligned(super().laid_out(dtype, (math.prod(shape) + 2 * ALIGNED,), (1,)), dtype, shape, steps)

    def from_host(self, data: Any, dtype: DType, device: Device) -> CArray:
        array = super().from_host(data, dtype, device)
        made = self.laid_out(dtype, array.shape, array.steps)
        ctypes.memmove(made.address, array.address, array.memory.size)
        return made

    def runtime(self, device: Device | None = None) -> Runtime:
        return _runtime(self)

    @property
    def kernels(self) -> KernelTable:
        return _kernels(self)


def _aligned(whole: CArray, dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...]) -> CArray:
    """An array of these steps in the memory of *whole*, from a place on where a GPU's memory would begin."""
    begin = -whole.address % (2 * ALIGNED)
    size = max(1, math.prod(shape)) * dtype.itemsize
    return CArray(whole.memory[begin : begin + size], dtype, shape, steps)


@cache
def _runtime(backend: HostBackend) -> HostRuntime:
    return HostRuntime(backend, Device(backend.info.name, 0))


@cache
def _kernels(backend: HostBackend) -> KernelTable:
    return generated_kernels(backend.runtime)


class HostRuntime(Runtime):
    """Runs generated CUDA C in this process.

    Attributes:
        sources: what was compiled, by the kernel's text.
    """

    dialect = CUDA_C
    description = DESCRIPTION

    def __init__(self, backend: HostBackend, device: Device) -> None:
        super().__init__(backend, device)
        self._made = backend.laid_out
        self.sources: dict[str, KernelSource] = {}

    def compile(self, source: KernelSource, what: str) -> tuple[Module, KernelSource]:
        self.sources[source.text] = source
        try:
            return build(source.text), source
        except BuildError as error:
            raise CompilerFailure(
                f"{what}: g++ does not compile the kernel", notes={"log": str(error)}, fix="report it to polyad"
            ) from error

    def launcher(self, kernel: tuple[Module, KernelSource], instances: int, geometry: bytes) -> Launch:
        def launch(arrays: Sequence[CArray], numbers: tuple[bytes, ...]) -> None:
            self._launch(kernel, instances, geometry, arrays, numbers, [array.address for array in arrays])

        return launch

    def launch_over(
        self,
        kernel: tuple[Module, KernelSource],
        instances: int,
        geometry: bytes,
        arrays: Sequence[CArray],
        numbers: tuple[bytes, ...],
    ) -> None:
        self._launch(kernel, instances, geometry, arrays, numbers, [])

    def _launch(
        self,
        kernel: tuple[Module, KernelSource],
        instances: int,
        geometry: bytes,
        arrays: Sequence[CArray],
        numbers: tuple[bytes, ...],
        given: Sequence[int],
    ) -> None:
        module, source = kernel
        block = source.group if source.group > 1 else BLOCK
        grid = -(-instances // block)
        memories = {array.address: array.memory for array in arrays}
        before = {address: memory.copy() for address, memory in memories.items()}
        found: list[list[bytes]] = []
        for schedule in SCHEDULES:
            for address, memory in memories.items():
                memory[...] = before[address]

            module.launch(source.name, (grid,), (block,), [*given, *numbers, geometry], schedule=schedule)
            found.append([memory.tobytes() for memory in memories.values()])
        if any(each != found[0] for each in found):
            raise RuntimeError(f"the order of threads changes what a kernel computes:\n{source.text}")

    def empty(self, dtype: DType, shape: Shape, steps: Strides) -> CArray:
        return self._made(dtype, shape, steps)

    def layout(self, array: CArray) -> Layout:
        return Layout(array.shape, array.steps, array.offset)

    def same_memory(self, first: CArray, second: CArray) -> bool:
        return first.memory.ctypes.data == second.memory.ctypes.data
