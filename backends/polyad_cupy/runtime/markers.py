"""Names for NVIDIA's profilers, Nsight Systems and Nsight Compute, through CuPy's bindings of NVTX."""

from __future__ import annotations

from cupy.cuda import nvtx, runtime

from polyad.backend.markers import Markers
from polyad.errors import DeviceError

_COLOR = 0


class CudaMarkers(Markers):
    """NVTX's ranges and marks; they need no device."""

    def push(self, name: str) -> None:
        nvtx.RangePush(name)

    def pop(self) -> None:
        nvtx.RangePop()

    def start(self, name: str) -> int:
        return int(nvtx.RangeStart(name, _COLOR))

    def end(self, number: int) -> None:
        nvtx.RangeEnd(number)

    def mark(self, name: str) -> None:
        nvtx.Mark(name)

    def collect(self, on: bool) -> None:
        try:
            runtime.profilerStart() if on else runtime.profilerStop()
        except runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"{'starting' if on else 'stopping'} the profiler: {error}", fix="run the program under nsys or ncu"
            ) from error
