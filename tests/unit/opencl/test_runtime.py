"""Devices, memory, programs and failures, below all kernels. What ends or forks a process runs in one of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import polyad
from polyad.errors import DeviceError, KernelFailure, OutOfMemory


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """*program* in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def device(opencl):
    """A device apart from the one that other tests use, so that its account is this test's."""
    from polyad_opencl.runtime import discovery
    from polyad_opencl.runtime.device import Device

    return Device(0, discovery.devices()[0])


# ---------------------------------------------------------------------------------------------------------- memory


def test_blocks_are_used_again(device):
    first = device.pool.take(5000)
    buffer, size = first.buffer, first.nbytes
    assert size >= 5000
    del first
    again = device.pool.take(5000)
    assert again.buffer is buffer
    stats = device.pool.stats()
    assert (stats.allocated, stats.reserved, stats.blocks, stats.requests) == (size, size, 1, 2)
    del again
    device.pool.empty_cache()
    stats = device.pool.stats()
    assert (stats.allocated, stats.reserved, stats.peak_allocated, stats.blocks) == (0, 0, size, 0)
    device.pool.reset_peaks()
    assert device.pool.stats().peak_reserved == 0


def test_sizes_share_blocks_and_lose_little():
    pytest.importorskip("pyopencl")
    from polyad_opencl.runtime.memory import rounded

    for nbytes in (1, 512, 513, 1000, 4097, 10**6, 10**9 + 1):
        assert nbytes <= rounded(nbytes)
        assert nbytes <= 512 or rounded(nbytes) <= 1.25 * nbytes
    assert len({rounded(nbytes) for nbytes in range(1, 2**16)}) < 32


def test_an_allocation_beyond_the_limit_says_what_holds_memory(opencl):
    made = run(
        """
        import polyad
        kept = polyad.zeros(300, 100, device="opencl")
        for shape in ((1000, 1000), (1 << 20,)):
            try:
                polyad.zeros(*shape, device="opencl")
            except polyad.errors.OutOfMemory as error:
                print(error)
        print((kept + 1).sum().item())
        """,
        POLYAD_OPENCL_MEMORY_LIMIT="1000000",
    )
    assert made.stderr == ""
    assert "there is no memory for 4,000,000 bytes: the limit is 1,000,000 bytes" in made.stdout
    assert "1 x float32 (300, 100): 120,000 bytes" in made.stdout
    assert made.stdout.splitlines()[-1] == "30000.0"


def test_room_is_made_before_memory_is_refused(device):
    device.pool.limit = 4000
    kept = device.pool.take(1000)
    del kept
    assert device.pool.take(2800).nbytes > 2800  # the kept block went back for it
    with pytest.raises(OutOfMemory, match="limit is 4,000 bytes"):
        device.pool.take(4000)


@pytest.mark.parametrize("said", ["4GB", "-5", "0", "1e6"])
def test_a_limit_that_is_no_number_of_bytes_is_named(device, monkeypatch, said):
    from polyad_opencl.runtime.memory import Pool

    monkeypatch.setenv("POLYAD_OPENCL_MEMORY_LIMIT", said)
    with pytest.raises(DeviceError, match=f"POLYAD_OPENCL_MEMORY_LIMIT: '{said}' is no number of bytes"):
        Pool(device)


def test_one_allocation_has_its_own_limit(device):
    device.pool.largest = 4096
    with pytest.raises(OutOfMemory, match="one allocation can have at most 4,096 bytes") as caught:
        device.pool.take(10_000)
    assert caught.value.fix == "split the tensor"


def test_the_account_is_polyads(opencl):
    polyad.accelerator.reset_peak_memory_stats(opencl)
    before = polyad.accelerator.memory_allocated(opencl)
    x = polyad.zeros(1000, 1000, device=opencl)
    held = polyad.accelerator.memory_allocated(opencl) - before
    assert 4_000_000 <= held <= 5_000_000
    view = x[::2]
    del x
    assert polyad.accelerator.memory_allocated(opencl) - before == held  # the view keeps it
    del view
    assert polyad.accelerator.memory_allocated(opencl) == before
    assert polyad.accelerator.max_memory_allocated(opencl) >= before + held
    assert polyad.accelerator.memory_stats(opencl)["allocated_bytes.all.current"] == before


def test_an_array_may_be_copied_onto_itself(machine):
    from polyad_kernels.kernels.memory import conversion as copying

    for values in (np.arange(6.0), np.arange(12.0).reshape(3, 4).T):
        x = machine.array(values)
        copying.copy(x, x)
        np.testing.assert_array_equal(machine.host(x), values)


# ---------------------------------------------------------------------------------------------------------- programs


def test_a_kernel_that_does_not_compile_is_explained(device):
    with pytest.raises(KernelFailure, match=r"frobnicate float32: the driver of .* does not compile") as caught:
        device.kernel("__kernel void f(__global float *x) { x[0] = nonsense; }", "f", "p", what="frobnicate float32")
    assert "nonsense" in caught.value.lines["log"]
    with open(caught.value.lines["source"], encoding="utf-8") as file:
        assert "x[0] = nonsense" in file.read()
    os.unlink(caught.value.lines["source"])
    launch = device.kernel("__kernel void g(__global int *x) { x[0] = 7; }", "g", "p", what="good")
    block, host = device.pool.take(4), np.zeros(4, np.uint8)
    launch((1,), block.buffer)
    device.read(host, block.buffer, 0)
    assert host.view(np.int32).tolist() == [7]


def test_a_program_without_its_kernel_is_explained(device):
    with pytest.raises(KernelFailure, match=r"sum of nothing: .* failed") as caught:
        device.kernel("__kernel void here(__global int *x) { x[0] = 1; }", "elsewhere", "p", what="sum of nothing")
    assert caught.value.lines["program"] == "built, and has no kernel elsewhere"
    if device.handle.platform.name == "Portable Computing Language":
        assert "delete PoCL's cache" in caught.value.fix


PROGRAM = """
    import polyad
    x = polyad.ones(3, 5, device="opencl")
    print(((x + 2) @ x.T).sum().item())
    from polyad_opencl.runtime.device import opened_devices
    (device,) = opened_devices()
    print(device.programs.compiled, device.programs.loaded)
"""


def test_a_second_process_compiles_nothing(opencl, tmp_path):
    first = run(PROGRAM, POLYAD_CACHE_DIR=str(tmp_path))
    value, programs = first.stdout.splitlines()
    compiled, loaded = map(int, programs.split())
    assert (value, loaded, first.stderr) == ("135.0", 0, "")
    assert compiled > 0
    assert len(list(tmp_path.glob("opencl/*/*.bin"))) == compiled
    second = run(PROGRAM, POLYAD_CACHE_DIR=str(tmp_path))
    assert second.stdout.split() == ["135.0", "0", str(compiled)]
    # What cannot be read is compiled again.
    for path in tmp_path.glob("opencl/*/*.bin"):
        path.write_bytes(b"damaged")
    third = run(PROGRAM, POLYAD_CACHE_DIR=str(tmp_path))
    assert third.stdout.split() == ["135.0", str(compiled), "0"]


def test_a_cache_that_cannot_be_written_is_done_without(opencl, tmp_path):
    (tmp_path / "file").write_text("no folder")
    made = run(PROGRAM, POLYAD_CACHE_DIR=str(tmp_path / "file"))
    assert made.stdout.startswith("135.0")
    assert made.stderr == ""


# ---------------------------------------------------------------------------------------------------------- failures


def test_a_lost_device_is_refused_and_others_work(device, opencl):
    import pyopencl as cl

    class Error(cl.RuntimeError):
        code = cl.status_code.DEVICE_NOT_AVAILABLE

    class LostQueue:
        def finish(self):
            raise Error("clFinish failed: DEVICE_NOT_AVAILABLE")

    block, spare = device.pool.take(16), device.pool.take(16)
    device.queue = LostQueue()
    with pytest.raises(DeviceError, match="was lost"):
        device.finish()
    for use in (
        device.finish,
        lambda: device.pool.take(10**6),
        lambda: device.read(np.zeros(4, np.uint8), block.buffer, 0),
    ):
        with pytest.raises(DeviceError, match="lost") as caught:
            use()
        assert "other devices still work" in caught.value.fix
    del spare
    device.pool.empty_cache()  # is asked of all devices at once, and must not fail for those that work
    assert (polyad.ones(3, device=opencl) + polyad.ones(3, device=opencl)).tolist() == [2, 2, 2]
    assert (polyad.ones(3) + 1).tolist() == [2, 2, 2]


def test_a_forked_process_is_told_and_does_not_hang(opencl):
    made = run(
        """
        import os, polyad
        x = polyad.ones(3, device="opencl")
        if os.fork() == 0:
            try:
                x + 1
            except polyad.errors.DeviceError as error:
                print("child:", error, flush=True)
            print("child:", (polyad.ones(3) + 1).sum().item(), flush=True)
            raise SystemExit(3)
        _, status = os.wait()
        print("parent:", os.waitstatus_to_exitcode(status), (x + 1).sum().item())
        """
    )
    assert made.stderr == ""
    assert "forked from one that had used the device" in made.stdout
    assert "spawn" in made.stdout
    assert "child: 6.0" in made.stdout
    assert "parent: 3 6.0" in made.stdout


def test_a_process_forked_after_devices_were_counted_does_not_hang(opencl):
    """PoCL starts its threads when devices are looked for; in the child nobody would answer."""
    made = run(
        """
        import os, signal, polyad
        print(polyad.accelerator.device_count() > 0, flush=True)
        if os.fork() == 0:
            signal.alarm(20)  # ends the child if it hangs
            try:
                polyad.ones(3, device="opencl") + 1
            except polyad.errors.DeviceError as error:
                print("child:", error, flush=True)
            raise SystemExit(3)
        print("parent:", os.waitstatus_to_exitcode(os.wait()[1]))
        """
    )
    assert "forked from one that had looked for devices" in made.stdout
    assert made.stdout.splitlines()[-1] == "parent: 3"


def test_a_process_forked_in_the_middle_of_an_allocation_does_not_hang(opencl):
    made = run(
        """
        import os, signal, threading, polyad
        from polyad_opencl.runtime.device import opened_devices
        kept = polyad.ones(3, device="opencl") + 1
        pool = opened_devices()[0].pool
        taken = threading.Event()
        def hold():
            with pool._lock:
                taken.set()
                threading.Event().wait(1)
        threading.Thread(target=hold).start()
        taken.wait()
        if os.fork() == 0:
            signal.alarm(20)
            del kept  # gives its memory to the pool
            try:
                polyad.ones(3, device="opencl")
            except polyad.errors.DeviceError:
                raise SystemExit(3)
        print("parent:", os.waitstatus_to_exitcode(os.wait()[1]))
        """
    )
    assert made.stdout.splitlines()[-1] == "parent: 3"


def test_the_interpreter_ends_quietly(opencl):
    made = run(
        """
        import threading, polyad
        x = polyad.ones(1000, device="opencl")
        def work():
            for _ in range(50):
                y = x * 2
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        kept = [x + number for number in range(20)]
        """
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


def test_threads_share_a_device(opencl):
    wrong = []

    def work(number):
        x = polyad.full((257,), float(number), device=opencl)
        for _ in range(30):
            y = (x * 3 + number) - x
            if not (y == 3 * number).all().item():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_devices_side_by_side(opencl):
    made = run(
        """
        import polyad
        from polyad.devices import registry
        backend = registry.get("opencl")
        if backend.device_count() < 2:
            print("one device")
        else:
            x, y = polyad.ones(3, device="opencl:0"), polyad.ones(3, device="opencl:1")
            try:
                x + y
            except polyad.errors.DeviceError as error:
                print(error.message)
            print((x.to("opencl:1") + y).device, (x.to("opencl:1") + y).tolist())
        """,
        POCL_DEVICES="pthread basic",
    )
    if "one device" in made.stdout:
        pytest.skip("the OpenCL platform has one device, and is no PoCL that can show two")
    assert "operands are on different devices" in made.stdout
    assert "opencl:1 [2.0, 2.0, 2.0]" in made.stdout


# ---------------------------------------------------------------------------------------------------------- discovery


class Handle:
    def __init__(self, name, kind, platform=None, version="1"):
        self.name, self.type, self.driver_version, self.available = name, kind, version, True
        self.platform = platform


class Platform:
    def __init__(self, name, *handles):
        self.name, self.handles = name, list(handles)
        for handle in handles:
            handle.platform = self

    def get_devices(self):
        return self.handles


@pytest.fixture
def platforms(opencl, monkeypatch):
    from polyad_opencl.runtime import discovery

    found = []
    monkeypatch.setattr(discovery, "_platforms", lambda: found)
    discovery.devices.cache_clear()
    yield found
    discovery.devices.cache_clear()


def test_devices_are_found_once_and_in_order(platforms):
    import pyopencl as cl

    from polyad_opencl.runtime import discovery

    cpu, gpu = cl.device_type.CPU, cl.device_type.GPU
    platforms += [
        Platform("A", Handle("cpu", cpu)),
        Platform("A", Handle("cpu", cpu)),  # listed twice by the loader
        Platform("B", Handle("gpu", gpu), Handle("gpu", gpu)),  # two cards of a kind
        *[Platform("D", Handle("accelerator", cl.device_type.ACCELERATOR))] * 2,  # one driver, which two files name
        Platform("C", Handle("Intel(R) FPGA Emulation Device", cl.device_type.ACCELERATOR)),
    ]
    assert [handle.name for handle in discovery.devices()] == ["gpu", "gpu", "accelerator", "cpu"]


def test_no_platform_says_what_brings_one(platforms):
    from polyad_opencl.backend import OpenCLBackend

    backend = OpenCLBackend()
    assert backend.device_count() == 0
    assert "no OpenCL platform is installed" in backend.probe()
    assert "pip install pocl-binary-distribution" in backend.probe()


def test_a_platform_without_devices_says_why(platforms, monkeypatch):
    from polyad_opencl.runtime import discovery

    platforms.append(Platform(discovery.POCL))
    monkeypatch.setattr(discovery, "_writable", lambda folder: False)
    assert "Portable Computing Language has no device" in discovery.why_none()
    assert "POCL_CACHE_DIR" in discovery.why_none()


def test_pocl_needs_a_linker(machine, monkeypatch):
    from polyad_opencl.runtime import discovery

    if machine.device.handle.platform.name != discovery.POCL:
        pytest.skip("the device is not PoCL's")
    assert discovery.missing_tool(machine.device.handle) == ""
    monkeypatch.setenv("PATH", "")
    assert "binutils" in discovery.missing_tool(machine.device.handle)


REFUSED = """
    import polyad
    try:
        print((polyad.ones(3, device="opencl") + 1).tolist())
    except polyad.errors.BackendError as error:
        print(error)
    print("cpu:", (polyad.ones(3) + 1).tolist())
"""


def test_pocl_without_a_linker_does_not_end_the_process(machine, tmp_path):
    """PoCL calls abort() when it finds no ld."""
    from polyad_opencl.runtime import discovery

    if machine.device.handle.platform.name != discovery.POCL:
        pytest.skip("the device is not PoCL's")
    nothing = {"POCL_CACHE_DIR": str(tmp_path / "pocl"), "POLYAD_CACHE_DIR": str(tmp_path / "polyad")}
    made = run(REFUSED, PATH=str(tmp_path), **nothing)
    assert (made.returncode, made.stderr) == (0, "")
    assert "because  PoCL links kernels with the program ld" in made.stdout
    assert made.stdout.splitlines()[-1] == "cpu: [2.0, 2.0, 2.0]"


@pytest.mark.parametrize("folder", ["/proc/nowhere", "file"])
def test_a_cache_that_pocl_cannot_write_is_named(machine, tmp_path, folder):
    from polyad_opencl.runtime import discovery

    if machine.device.handle.platform.name != discovery.POCL:
        pytest.skip("the device is not PoCL's")
    (tmp_path / "file").write_text("no folder")
    made = run(REFUSED, POCL_CACHE_DIR=str(tmp_path / folder), POLYAD_CACHE_DIR="")
    # The device does not open, or its compiler fails and the host computes.
    assert f"PoCL cannot write to its cache {tmp_path / folder}: set POCL_CACHE_DIR" in made.stdout + made.stderr
    assert "so the host computes it" in made.stderr or "polyad.backends" in made.stdout
    assert made.stdout.splitlines()[-1] == "cpu: [2.0, 2.0, 2.0]"


def test_no_platform_at_all(opencl, tmp_path):
    made = run(REFUSED, OCL_ICD_VENDORS=str(tmp_path / "nowhere"), OCL_ICD_FILENAMES="")
    if "no OpenCL platform" not in made.stdout:
        pytest.skip("the loader looks in more places than OCL_ICD_VENDORS")
    assert f"looked in {tmp_path / 'nowhere'}" in made.stdout
    assert "fix      mend that and start the program again, or use another device" in made.stdout
    assert made.stdout.splitlines()[-1] == "cpu: [2.0, 2.0, 2.0]"


def test_float64_where_there_is_none(device, monkeypatch):
    from polyad.devices import registry
    from polyad_opencl.backend import OpenCLBackend

    class Narrow(OpenCLBackend):
        info = registry.info_of("opencl")

    device.has_fp64 = False
    monkeypatch.setattr("polyad_opencl.backend.opened", lambda name: device)
    capabilities = Narrow().capabilities(polyad.device("opencl:0"))
    assert polyad.float64 not in capabilities.dtypes
    assert polyad.complex128 not in capabilities.dtypes


def test_a_drivers_error_says_what_to_do(device):
    import pyopencl as cl

    def explained(name):
        class Error(cl.RuntimeError):
            code = getattr(cl.status_code, name)

        return device.explained(Error(f"clEnqueueNDRangeKernel failed: {name}"), "add float32")

    full, resources, value = map(explained, ("OUT_OF_HOST_MEMORY", "OUT_OF_RESOURCES", "INVALID_VALUE"))
    assert isinstance(full, OutOfMemory)
    assert "smaller batches" in full.fix
    assert isinstance(resources, KernelFailure)
    assert "registers, local memory or time" in resources.fix
    assert "report it to polyad" in value.fix
    assert "INVALID_VALUE" in value.lines["driver"]
    assert "shapes" not in f"{full}{resources}{value}"
    assert not device.trouble
    lost = explained("DEVICE_NOT_AVAILABLE")
    assert isinstance(lost, DeviceError)
    assert "start the program again" in lost.fix
    assert device.trouble


@pytest.mark.parametrize(
    "read",
    [polyad.Tensor.tolist, pickle.dumps, polyad.Tensor.cpu, lambda x: x.numpy(force=True)],
    ids=["tolist", "pickle", "cpu", "numpy"],
)
def test_what_numpy_has_no_array_for_stays_on_the_device(opencl, read):
    x = polyad.empty((2**62, 0), device=opencl)
    assert (x + 1).shape == x.shape
    with pytest.raises(OutOfMemory):
        read(x)


def test_a_processor_is_no_accelerator(opencl, monkeypatch):
    import pyopencl as cl

    from polyad_opencl.runtime import discovery

    monkeypatch.setattr("polyad.devices.registry.names", lambda: ["cpu", "opencl"])
    others = [handle for handle in discovery.devices() if not handle.type & cl.device_type.CPU]
    assert polyad.accelerator.device_count() == len(others)
    assert polyad.accelerator.is_available() is bool(others)
    polyad.accelerator.synchronize()
