"""What a user is told when something is wrong: no driver, no room, a kernel that went astray, a wrong index."""

import os
import subprocess
import sys
import threading

import cupy
import numpy as np
import pytest
from cupy import simulation

import polyad
from polyad.base.device import Device
from polyad.errors import BackendUnavailable, CompilerFailure, DeviceError, IndexOutOfRange, KernelFailure, OutOfMemory
from polyad_cupy.runtime.device import opened
from polyad_cupy.runtime.programs import Programs


def test_out_of_memory_lists_the_largest_holders_and_can_be_retried():
    held = polyad.zeros(300, 1000, device="cuda")
    simulation.fail_allocations(2)
    with pytest.raises(OutOfMemory, match=r"float32 \(300, 1000\)") as caught:
        polyad.zeros(12_345, 678, device="cuda")
    assert "in use" in str(caught.value)
    assert polyad.zeros(12_345, 678, device="cuda").shape == (12_345, 678)
    assert held.shape == (300, 1000)


def test_a_tensor_larger_than_the_device_is_refused_at_once():
    with pytest.raises(polyad.cuda.OutOfMemoryError, match="the device has"):
        polyad.empty(1 << 40, device="cuda")


def test_memory_can_be_limited():
    try:
        polyad.cuda.set_per_process_memory_fraction(1e-3, "cuda:1")
        with pytest.raises(OutOfMemory, match="the limit is"):
            polyad.empty(1 << 23, device="cuda:1")
        assert polyad.cuda.get_per_process_memory_fraction("cuda:1") == 1e-3
    finally:
        polyad.cuda.set_per_process_memory_fraction(1.0, "cuda:1")
    assert polyad.empty(1 << 23, device="cuda:1").shape == (1 << 23,)


def test_the_account_counts_what_lives():
    polyad.cuda.synchronize()
    before = polyad.cuda.memory_allocated()
    x = polyad.empty(1 << 20, device="cuda")
    assert polyad.cuda.memory_allocated() - before >= x.numel() * 4
    assert polyad.cuda.max_memory_allocated() >= polyad.cuda.memory_allocated()
    del x
    assert polyad.cuda.memory_allocated() == before
    free, total = polyad.cuda.mem_get_info()
    assert 0 < free <= total


def test_a_lost_device_is_told_with_what_ran_last_and_others_go_on(spare):
    x = polyad.ones(3, device=spare)
    y = x.exp()
    simulation.break_device(1)
    with pytest.raises(DeviceError, match="was lost") as caught:
        y.cpu()
    assert "exp" in caught.value.lines["launched last"]
    with pytest.raises(DeviceError, match="save what lies on the host"):
        polyad.ones(3, device=spare)
    assert polyad.ones(3, device="cuda:0").exp().cpu().shape == (3,)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: polyad.empty(1 << 21, device=x.device),
        lambda x: x.erfinv(),
        lambda x: polyad.cuda.Stream(x.device),
        lambda x: polyad.cuda.mem_get_info(x.device),
        lambda x: x.clone(),
        lambda x: polyad.tensor(2.0, device=x.device),
    ],
)
def test_a_lost_device_is_told_whatever_meets_it_first(spare, use):
    x = polyad.ones(3, device=spare)
    simulation.break_device(1)
    with pytest.raises(DeviceError, match="was lost"):
        use(x)


def test_memory_that_the_driver_lacks_is_told_as_such(monkeypatch):
    def full(*arguments):
        raise cupy.cuda.driver.CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")

    x = polyad.ones(3, device="cuda")
    monkeypatch.setattr(cupy.cuda.driver, "launchKernel", full)
    with pytest.raises(OutOfMemory, match=r"cuda:0: there is no memory: exp.*OUT_OF_MEMORY") as caught:
        x.exp()
    assert "empty_cache" in str(caught.value)
    monkeypatch.undo()
    assert x.exp().cpu().shape == (3,)


_ASTRAY = """
__kernel void astray(__global float *out, long count) { out[count + get_global_id(0)] = 1; }
"""


def test_a_kernel_that_writes_beside_its_memory_is_found(spare):
    device = opened(Device("cuda", 1))
    block = device.pool.take(64)
    launcher = device.kernel(_ASTRAY, "astray", "pq", what="astray")
    launcher((1,), block.buffer, block.pointer.mem.size // 4)
    with pytest.raises(DeviceError, match="was lost"):
        device.finish()


def test_arguments_that_do_not_fit_a_kernel_are_refused():
    device = opened(Device("cuda", 0))
    launcher = device.kernel(_ASTRAY, "astray", "pi", what="astray")  # an int where it takes a long
    block = device.pool.take(64)
    with pytest.raises(KernelFailure, match="INVALID_VALUE"):
        launcher((1,), block.buffer, 1)
    launcher = device.kernel(_ASTRAY, "astray", "qq", what="astray")
    with pytest.raises(KernelFailure):
        launcher((1,), 12345, 1)  # no address


def test_more_arguments_than_a_kernel_takes_are_refused():
    with pytest.raises(KernelFailure, match=r"4,104 bytes of arguments"):
        opened(Device("cuda", 0)).launch(1, 1, 1, bytes(4104), "many")


def test_what_does_not_compile_is_told_with_the_compilers_words():
    device = opened(Device("cuda", 0))
    with pytest.raises(CompilerFailure, match="undeclared_name"):
        device.kernel("__kernel void wrong(long x) { undeclared_name = x; }", "wrong", "q", what="wrong")


def test_a_kernel_is_compiled_once_and_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path))
    device = opened(Device("cuda", 0))
    source = 'extern "C" __global__ void none(long long x) {}'
    first, second = Programs(device), Programs(device)
    first.function(source, "none", "none")
    first.function(source, "none", "none")
    second.function(source, "none", "none")
    assert (first.compiled, first.loaded, second.compiled, second.loaded) == (1, 0, 0, 1)


def test_a_wrong_index_is_told_by_the_next_read():
    x, index = polyad.arange(4.0, device="cuda"), polyad.tensor([0, 9], device="cuda")
    taken = x.gather(0, index)
    with pytest.raises(IndexOutOfRange, match="9"):
        taken.cpu()
    assert x.cpu().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["cuda:2", "cuda:99"])
def test_a_device_that_is_not_there_is_named(name):
    with pytest.raises(BackendUnavailable, match="has 2 devices, cuda:0 to cuda:1"):
        polyad.zeros(1, device=name)


@pytest.mark.parametrize(
    "ask", ["set_device", "synchronize", "get_device_name", "memory_allocated", "Stream", "device"]
)
def test_a_device_of_another_type_is_refused_as_pytorch_does(ask):
    with pytest.raises(ValueError, match="cpu is no cuda device"):
        getattr(polyad.cuda, ask)("cpu")


def _elsewhere(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    return done.stdout + done.stderr


def test_without_a_driver_there_is_no_device_and_doctor_says_why():
    said = _elsewhere(
        "import polyad; print(polyad.cuda.is_available(), polyad.cuda.device_count()); print(polyad.backends.doctor())",
        STANDIN_CUPY_DEVICES="0",
    )
    assert said.startswith("False 0")
    assert "there is no NVIDIA driver" in said
    assert "InsufficientDriver" in said


@pytest.mark.parametrize(
    ("library", "program", "wheel"),
    [
        ("libnvrtc.so.12", "polyad.ones(2, device='cuda').exp()", "nvidia-cuda-nvrtc-cu12"),
        ("libcublas.so.12", "x = polyad.ones(2, 2, device='cuda'); x @ x", "nvidia-cublas-cu12"),
        ("libcusolver.so.11", "polyad.ones(80, 80, device='cuda').svd()", "nvidia-cusolver-cu12"),
    ],
)
def test_a_library_that_is_missing_is_told_with_the_package_that_brings_it(library, program, wheel):
    said = _elsewhere(f"import polyad\n{program}", STANDIN_CUPY_LACKING=library)
    assert "BackendUnavailable" in said
    assert f"pip install {wheel}; or 'polyad[cuda12]'" in said


@pytest.mark.parametrize(
    ("library", "wheel"), [("libnvrtc.so.12", "nvidia-cuda-nvrtc-cu12"), ("libcublas.so.12", "nvidia-cublas-cu12")]
)
def test_doctor_names_the_package_of_a_library_that_is_missing(library, wheel):
    said = _elsewhere("import polyad; print(polyad.backends.doctor('cuda', seconds=3))", STANDIN_CUPY_LACKING=library)
    assert f"pip install {wheel}" in said
    assert "to the backend's author" not in said


def test_a_forked_process_is_told():
    said = _elsewhere(
        "import os, polyad\nx = polyad.ones(2, device='cuda'); x.tolist()\n"
        "if os.fork() == 0:\n"
        "    try:\n        x.tolist()\n"
        "    except polyad.errors.DeviceError as error:\n        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait(); print(x.tolist())"
    )
    assert "forked" in said
    assert "spawn" in said
    assert "[1.0, 1.0]" in said


def test_a_limit_that_is_no_number_is_told():
    said = _elsewhere("import polyad; polyad.ones(1, device='cuda')", POLYAD_CUDA_MEMORY_LIMIT="much")
    assert "'much' is no number of bytes" in said


def test_nothing_of_cuda_is_imported_before_it_is_asked_for():
    said = _elsewhere("import sys, polyad; polyad.ones(2).exp(); print([m for m in sys.modules if 'cupy' in m])")
    assert said.strip() == "[]"


def test_host_arrays_are_not_made_by_chance():
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(cupy.from_dlpack(polyad.ones(2, device="cuda")))


def test_nobody_looks_for_memory_while_another_allocates():
    """The stand-in's own: a look-up beside an allocation gave the neighbour's memory, and so IllegalAddress."""
    device = simulation.devices[0]
    memory, found = device.allocate(8), []
    thread = threading.Thread(target=lambda: found.append(device.owner(memory.address)))
    with simulation.lock:
        thread.start()
        thread.join(0.1)
        assert found == []
    thread.join()
    assert found == [memory]
    device.free(memory)
