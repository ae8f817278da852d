"""Write the kernels that small programs share, for one compilation: ``python tools/opencl_sources.py [--check]``.

What is common is not listed: training steps of ``benchmarks/peers`` run on device "opencl" with nothing compiled and
nothing launched, and the sources that they ask for are noted. `polyad_opencl.runtime.bundle` reads the file.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polyad
from polyad.codegen import CPU
from polyad_opencl.runtime.bundle import PATH, written
from polyad_opencl.runtime.device import Device
from polyad_opencl.source.generated import OpenCLRuntime, runtime_of

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "peers"))
from programs import PROGRAMS
from workloads import TRAINING

LEFT_OUT = "chain", "lstm", "bag"
"""Workloads that are no programs, or too unlike the others."""


def main() -> int:
    """The exit status: 1 if the file is not what would be written."""
    os.environ["POLYAD_OPENCL_TUNE"] = "0"
    sources = common(list(launched()))
    text = written(sources)
    if "--check" in sys.argv:
        return int(PATH.read_text(encoding="utf-8") != text)
    PATH.write_text(text, encoding="utf-8")
    print(f"{PATH}: {len(sources)} kernels")
    return 0


def launched() -> Iterator[list[str]]:
    """For each program, the sources of the generated kernels that it launches."""
    noted: dict[str, None] = {}

    def launcher(runtime: Any, kernel: Any, *_: object) -> Any:
        return lambda arrays, numbers: noted.setdefault(kernel.text)

    OpenCLRuntime.compile = lambda runtime, source, what: source  # type: ignore[assignment,method-assign,return-value]
    OpenCLRuntime.launcher = launcher  # type: ignore[assignment,method-assign]
    Device.kernel = lambda *_, local=(1,), **__: NoKernel(local)  # type: ignore[assignment,method-assign]
    polyad.set_default_device("opencl")
    runtime = runtime_of(polyad.device("opencl:0"))
    # What the text for a CPU depends on, alike on all machines.
    runtime.description = replace(runtime.description, kind=CPU, compute_units=4, cache_bytes=1 << 24)
    for name, workload in TRAINING.items():
        if name not in LEFT_OUT:
            workload(polyad)()
            yield list(noted)
            noted.clear()
    for name, program in PROGRAMS.items():
        if name not in LEFT_OUT:
            program(polyad, "opencl")
            yield list(noted)
            noted.clear()


class NoKernel:
    """In place of a kernel written by hand."""

    def __init__(self, local: tuple[int, ...]) -> None:
        self.local, self.what = local, ""

    def __call__(self, size: tuple[int, ...], *arguments: Any) -> None:
        pass


def common(programs: list[list[str]]) -> list[str]:
    """The sources that half of *programs* need: each that a program does not need costs it a fiftieth of a second."""
    count = Counter(source for each in programs for source in each)
    return [source for source in sorted(count) if 2 * count[source] >= len(programs)]


if __name__ == "__main__":
    sys.exit(main())
