"""Common kernels that are compiled as one program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from polyad_opencl.runtime.bundle import ALONE, Bundle
from polyad_opencl.runtime.discovery import POCL
from polyad_opencl.runtime.programs import Programs

SOURCES = [
    f"typedef struct {{ float v; }} Number;\n"
    f"inline static float changed(const float x) {{ const Number n = {{x {what}}}; return n.v; }}\n"
    f"__kernel void kernel_(__global float *out) {{ out[get_global_id(0)] = changed(get_global_id(0)); }}\n"
    for what in ("+ 1.0f", "* 3.0f", "- 0.5f", "/ 3.0f")
]
EXPECTED = [x.astype(np.float32) for i in [np.arange(4, dtype=np.float32)] for x in (i + 1, i * 3, i - 0.5, i / 3)]


@pytest.fixture
def programs(opencl: str, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """The programs of a device that has compiled nothing, with `SOURCES` for a bundle."""
    from polyad_opencl.runtime import discovery
    from polyad_opencl.runtime.device import Device

    handle = discovery.devices()[0]
    if handle.platform.name != POCL:
        pytest.skip("only PoCL compiles kernels together")
    monkeypatch.setenv("POLYAD_CACHE_DIR", "")
    programs = Device(0, handle).programs
    programs.bundle = Bundle(SOURCES)
    return programs


def results(programs: Programs, kernel: cl.Kernel) -> Any:
    """What *kernel* writes."""
    device, found = programs._device, np.empty(4, np.float32)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, found.nbytes)
    kernel(device.queue, (4,), (1,), buffer)
    cl.enqueue_copy(device.queue, found, buffer)
    return found


def test_kernels_compiled_together_are_the_same_as_alone(programs: Programs) -> None:
    names = []
    for source, expected in zip(SOURCES, EXPECTED, strict=True):
        found = programs.kernel(source, "kernel_", "a test")
        names.append(found.function_name)
        alone = cl.Kernel(programs.get(source, "", "a test"), "kernel_")
        assert results(programs, found).tobytes() == results(programs, alone).tobytes() == expected.tobytes()
    assert names == ["kernel_", "kernel_", "kernel__2", "kernel__3"]


def test_who_needs_few_kernels_waits_for_these_alone(programs: Programs) -> None:
    for source in SOURCES[:ALONE]:
        programs.kernel(source, "kernel_", "a test")
    assert programs.compiled == ALONE
    for source in SOURCES[ALONE:]:
        programs.kernel(source, "kernel_", "a test")
    assert programs.compiled == ALONE + 1


def test_a_bundle_that_does_not_compile_is_said_once_and_kernels_come_alone(programs: Programs) -> None:
    programs.bundle = Bundle([*SOURCES, "__kernel void kernel_(no_type x) {}\n"])
    with pytest.warns(UserWarning, match="together") as said:
        found = [results(programs, programs.kernel(source, "kernel_", "a test")) for source in SOURCES]
    assert len(said) == 1
    assert [x.tobytes() for x in found] == [x.tobytes() for x in EXPECTED]


def test_the_file_is_what_the_tool_writes(programs: Programs) -> None:
    tool = Path(__file__).parents[3] / "tools" / "opencl_sources.py"
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(tool), "--check"], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, f"run python tools/opencl_sources.py\n{ended.stderr}"
