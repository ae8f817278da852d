"""Running generated kernels: the device's side of `polyad.backend.runtime`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polyad.backend.runtime import Launch
from polyad.codegen import CUDA_C, GPU, DeviceDescription, KernelSource
from polyad.devices import registry
from polyad_kernels.array import Array
from polyad_kernels.runtime import ArrayRuntime

from .device import opened

if TYPE_CHECKING:
    from polyad.base.device import Device as DeviceName

    from .device import Device


class Compiled:
    """A kernel: the driver's handle, its group (1 if instances do not cooperate), and the layout of its arguments."""

    __slots__ = ("form", "function", "group", "what")

    def __init__(self, function: int, source: KernelSource, what: str) -> None:
        self.function, self.group, self.what = function, source.group, what
        self.form = struct.Struct(f"{len(source.arrays)}P")


class CudaRuntime(ArrayRuntime):
    """Generated kernels on *device*, a `runtime.device.Device`."""

    dialect = CUDA_C

    def __init__(self, device: Device) -> None:
        super().__init__(registry.get("cuda"), device.name)
        self.on = device
        self.description = DeviceDescription(
            kind=GPU,
            compute_units=device.compute_units,
            max_local_size=device.max_local_size,
            has_fp64=True,
            has_fp16=True,
        )
        self._take = device.pool.take

    def compile(self, source: KernelSource, what: str) -> Compiled:
        with self.on.driver(what):
            return Compiled(self.on.programs.function(source.text, source.name, what), source, what)

    def launcher(self, kernel: Compiled, instances: int, geometry: bytes) -> Launch:
        local = kernel.group if kernel.group > 1 else self.description.local_size
        blocks = max(1, -(-instances // local))
        launch_packed, function, pack, what = self.on.launch, kernel.function, kernel.form.pack, kernel.what
        begin = kernel.form.size
        known: list[Any] = [None, b""]

        def launch(arrays: Sequence[Array], numbers: tuple[bytes, ...]) -> None:
            rest = known
            if rest[0] is not numbers:
                rest = [numbers, _aligned(begin, (*numbers, geometry))]
                known[:] = rest
            pointers = pack(*[array.buffer for array in arrays])
            launch_packed(function, blocks, local, pointers + rest[1], what)

        return launch


def _aligned(begin: int, arguments: Sequence[bytes]) -> bytes:
    r"""*arguments* one behind the other, as a kernel that has *begin* bytes of others before them finds them.

    A number lies at a multiple of its size, a geometry, which is of 64-bit numbers, at one of 8.

    >>> _aligned(8, (b"aa", b"bbbb"))
    b'aa\x00\x00bbbb'
    """
    placed = bytearray()
    for argument in arguments:
        size = min(8, len(argument))
        placed += bytes(-(begin + len(placed)) % size) + argument
    return bytes(placed)


def runtime_of(device: DeviceName) -> CudaRuntime:
    """What runs generated kernels on *device*, as core names it."""
    return opened(device).generated
