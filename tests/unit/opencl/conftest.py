"""What the tests of the OpenCL backend run on: the first device, as it is and as if it were no CPU.

The geometry of launches differs between CPU devices and others, and with it which kernels run; a CPU device can be told
to take the others' way. Without PyOpenCL or a device the tests are skipped, and say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


class Machine:
    """A runtime device and its arrays."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def array(self, values: Any) -> Any:
        """A dense array of the values of a NumPy array."""
        from polyad.interop.numpy import polyad_dtype
        from polyad_kernels.array import new

        values = np.asarray(values, order="C")
        made = new(self.device, values.shape, polyad_dtype(values.dtype))
        if values.size:
            self.device.write(made.buffer, values.reshape(-1).view(np.uint8))
        return made

    def host(self, array: Any) -> Any:
        """The values of an array, after all work."""
        from polyad_opencl.backend import OpenCLBackend

        return OpenCLBackend().to_host(array)


def _handle() -> Any:
    pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")
    from polyad_opencl.runtime import discovery

    if not discovery.devices():
        pytest.skip(f"there is no OpenCL device: {discovery.why_none()}")
    return discovery.devices()[0]


@pytest.fixture(scope="session")
def opencl() -> str:
    """The name of a device."""
    _handle()
    return "opencl"


@pytest.fixture(scope="session", params=["as it is", "like a GPU"])
def machine(request: pytest.FixtureRequest) -> Machine:
    """The first device, opened for these tests."""
    handle = _handle()
    from polyad_opencl.runtime.device import Device

    device = Device(0, handle)
    if request.param == "like a GPU":
        device.is_cpu = device.shares_host_memory = False
        device.compute_units = 4
        device.transfers.staged, device.transfers.staged_from, device.transfers.piece = True, 1, 256
    return Machine(device)
