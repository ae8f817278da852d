"""Device "cuda" on the stand-in for CuPy: only where that is installed, as in the session conformance(cuda-standin)."""

import functools
import importlib
import sys

import pytest

try:
    from cupy import simulation
except ImportError:
    simulation = None
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def spare():
    """The name of a device that a test may break."""
    from polyad.base.device import Device
    from polyad_cupy.runtime.device import opened

    device = opened(Device("cuda", 1))
    yield "cuda:1"
    device.trouble = ""
    simulation.mend_device(1)


class Kept:
    """What proofs found, in memory: the folder of the machine keeps kernels alone, which are long to build."""

    def __init__(self):
        found = {}
        self.read, self.keep = found.get, found.__setitem__


@pytest.fixture
def device(monkeypatch):
    """Device cuda:0, of whose libraries nothing is known yet."""
    from polyad.base.device import Device
    from polyad_cupy.kernels.products import cublaslt_matmul
    from polyad_cupy.libraries import cublaslt, proofs
    from polyad_cupy.runtime.device import opened

    monkeypatch.setattr(proofs, "FOLDER", Kept())
    monkeypatch.setattr(cublaslt_matmul, "_multiplier", functools.cache(cublaslt.Multiplier))
    found = opened(Device("cuda", 0))
    monkeypatch.setattr(found, "proofs", proofs.Proofs("test", lambda: found.recording is not None))
    return found


@pytest.fixture
def library(device, monkeypatch):
    """What the stand-in for cuDNN is asked for."""
    from polyad.backends import cudnn as switches
    from polyad_cupy.kernels.nn import cudnn_convolution
    from polyad_cupy.libraries import cudnn as binding

    monkeypatch.setenv("STANDIN_CUDNN", "1")
    for name in [name for name in sys.modules if name == "cudnn" or name.startswith("cudnn.")]:
        monkeypatch.delitem(sys.modules, name)
    frontend = importlib.import_module("cudnn")
    binding.library.cache_clear()
    monkeypatch.setattr(cudnn_convolution, "engine", functools.cache(binding.Engine))
    with switches.flags(enabled=True, allow_tf32=False):
        yield frontend.simulation.wanted
    binding.library.cache_clear()
