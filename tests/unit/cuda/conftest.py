"""Device "cuda" on the stand-in for CuPy: only where that is installed, as in the session conformance(cuda-standin)."""

import pytest

try:
    from cupy import simulation
except ImportError:
    simulation = None
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def spare():
    """The name of a device that a test may break."""
    from polyad.device import Device
    from polyad_cupy.runtime.device import opened

    device = opened(Device("cuda", 1))
    yield "cuda:1"
    simulation.devices[1].broken = device.trouble = ""
    simulation.devices[1].null.work.clear()
