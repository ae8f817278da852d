"""What programs on a device with memory and a queue of its own get to see, and that the device notices its misuse."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from polyad_fake.memory import FREED, FRESH
from polyad_fake.plugin import info

import polyad
from polyad.dispatch.op import OPS
from polyad.errors import DeviceError, DTypeError, IndexOutOfRange, KernelFailure, OutOfMemory

# ------------------------------------------------------------------------------------------------------------ later


def test_calls_return_before_anything_is_done(fake) -> None:
    device = fake.devices[0]
    x = polyad.ones(2, 3, device="fake", requires_grad=True)
    with device.paused():
        done = device.queue.done
        loss = (x @ x.T * 2).sum()
        loss.backward()
        x.grad.add_(1)
        assert device.queue.done <= done + 1  # what it had begun with
        assert x.grad.shape == (2, 3)
        with pytest.raises(DeviceError, match="waiting for work while the queue is paused"):
            loss.item()
    assert loss.item() == 24.0
    assert x.grad.tolist() == [[9.0] * 3] * 2


def test_devices_do_not_wait_for_each_other(fake) -> None:
    x, y = polyad.ones(3, device="fake:0"), polyad.ones(3, device="fake:1")
    with fake.devices[0].paused():
        x = x + 1
        assert (y + 2).tolist() == [3.0] * 3
    assert x.tolist() == [2.0] * 3


def test_host_arrays_are_not_aliased(fake) -> None:
    data = np.ones(4, np.float32)
    with fake.devices[0].paused():
        x = polyad.tensor(data, device="fake")
        data[:] = 7
    read = x.cpu().numpy()
    assert read.tolist() == [1.0] * 4
    read[:] = 9
    assert x.tolist() == [1.0] * 4
    with pytest.raises(AssertionError, match="only to_host can"):
        np.asarray(x._array)


def test_an_error_in_the_work_is_raised_once_to_whoever_waits(fake) -> None:
    x = polyad.zeros(3, 4, device="fake")
    bad = x.gather(1, polyad.tensor([[9]], device="fake"))
    after = x + 1
    with pytest.raises(IndexOutOfRange, match=r"gather: index\[0, 0\] = 9 is not in \[0, 4\)") as caught:
        polyad.accelerator.synchronize("fake")
    assert caught.value.lines["index"] == "int64 (1, 1) on fake:0"
    assert "after the call that caused it" in caught.value.lines["noticed"]
    assert after.tolist() == [[1.0] * 4] * 3
    assert bad.shape == (1, 1)  # whatever is in it
    assert bad.tolist() == bad.tolist()


def test_shapes_that_do_not_fit_are_told_at_once(fake) -> None:
    with fake.devices[0].paused(), pytest.raises(RuntimeError, match=r"add: .*\(2,\).*\(3,\)") as caught:
        polyad.ones(2, device="fake") + polyad.ones(3, device="fake")
    assert caught.value.lines["input"] == "float32 (2,) on fake:0"


# ------------------------------------------------------------------------------------------------------------ memory


def test_memory_that_nobody_wrote_is_not_computed_with(fake) -> None:
    x = polyad.empty(2, 3, device="fake")
    assert x.cpu().numpy().tobytes() == bytes([FRESH]) * 24
    x[0].fill_(1)
    assert (x[0] + 1).tolist() == [2.0] * 3
    copied = x.clone()
    assert (copied[0] + 1).tolist() == [2.0] * 3
    x.T + 1
    with pytest.raises(KernelFailure, match=r"reads 3 elements of float32 \(3, 2\) that nobody has written"):
        polyad.accelerator.synchronize("fake")


def test_freed_memory_is_spoilt_and_not_used_again(fake) -> None:
    blocks = fake.devices[0].blocks
    x = polyad.ones(4, device="fake")
    polyad.accelerator.synchronize("fake")
    window = x._array.window()
    leaked = blocks.read(window)
    assert leaked.tolist() == [1.0] * 4
    del x
    gc.collect()
    polyad.accelerator.synchronize("fake")
    assert leaked.tobytes() == bytes([FREED]) * 16
    fake.devices[0].submit(lambda: blocks.read(window))
    with pytest.raises(KernelFailure, match="memory is used after it was freed"):
        polyad.accelerator.synchronize("fake")
    assert polyad.ones(4, device="fake")._array.window().address != window.address


def test_memory_lives_as_long_as_a_view_of_it(fake) -> None:
    tail = polyad.arange(6, device="fake")[4:]
    gc.collect()
    assert tail.tolist() == [4, 5]
    assert polyad.accelerator.memory_allocated("fake") == 48
    del tail
    assert polyad.accelerator.memory_allocated("fake") == 0
    assert polyad.accelerator.max_memory_allocated("fake") >= 48


def test_no_room(fake) -> None:
    kept = polyad.ones(100, 1000, device="fake")
    with pytest.raises(OutOfMemory, match="fake:0: there is no memory for 800,000 bytes") as caught:
        polyad.zeros(200, 1000, device="fake")
    assert caught.value.lines["in use"] == "400,000 bytes in 1 block"
    assert caught.value.lines["held by"] == "1 x float32 (100, 1000): 400,000 bytes"
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(OutOfMemory):
        kept.repeat(3, 1)
    assert polyad.zeros(200, 1000, device="fake:1").sum().item() == 0.0
    assert kept.sum().item() == 100_000.0


@pytest.mark.parametrize("number", range(1, 12))
def test_running_out_of_memory_in_a_training_step_leaves_the_model_as_it_was(fake, number: int) -> None:
    model = polyad.nn.Sequential(polyad.nn.Linear(3, 4), polyad.nn.Tanh(), polyad.nn.Linear(4, 1)).to("fake")
    optimizer = polyad.optim.SGD(model.parameters(), lr=0.1)
    x = polyad.ones(5, 3, device="fake")
    before = [parameter.tolist() for parameter in model.parameters()]
    fake.devices[0].fail_allocation(number)
    with pytest.raises(OutOfMemory):
        model(x).square().mean().backward()
    assert [parameter.tolist() for parameter in model.parameters()] == before
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    assert [parameter.tolist() for parameter in model.parameters()] != before


# ------------------------------------------------------------------------------------------------------------ loss

CALLS = {
    "an op": lambda x: x + 1,
    "an op in place": lambda x: x.add_(1),
    "a new tensor": lambda x: polyad.zeros(3, device="fake:0"),
    "from the host": lambda x: polyad.tensor([1.0], device="fake:0"),
    "to the host": lambda x: x.cpu(),
    "reading": lambda x: x.tolist(),
    "showing": repr,
    "filling": lambda x: x.fill_(1),
    "copying": lambda x: x.copy_(x.flip(0)),
    "waiting": lambda x: polyad.accelerator.synchronize("fake:0"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_lost_device_says_so_and_takes_nobody_along(fake, call: str) -> None:
    lost, other, host = (polyad.ones(3, device=device) for device in ("fake:0", "fake:1", "cpu"))
    with fake.devices[0].paused():
        lost + 1  # is never done
        fake.devices[0].lose("unplugged")
    with pytest.raises(DeviceError, match="fake:0: the device is lost: unplugged") as caught:
        CALLS[call](lost)
    assert "other devices" in caught.value.fix
    assert (other + 1).cpu().tolist() == (host + 1).tolist() == [2.0] * 3
    del lost
    gc.collect()  # its memory is given up without a word


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_fork_made_is_told_so_and_does_not_hang(fake) -> None:
    program = """
import os, polyad
from polyad import backends
from polyad_fake.backend import FakeBackend
backends.register("fake", FakeBackend())
x = polyad.ones(3, device="fake")
x.tolist()
pid = os.fork()
if pid == 0:
    try:
        (x + 1).tolist()
    except RuntimeError as error:
        print(error, flush=True)
    print((polyad.ones(2) + 1).tolist(), flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print((x + 1).tolist())
"""
    lines = run(program).splitlines()
    assert "fake:0: the device is lost: this process was forked" in lines[0]
    assert lines[-2:] == ["[2.0, 2.0]", "[2.0, 2.0, 2.0]"]


def test_the_interpreter_exits_with_work_in_the_queue() -> None:
    program = """
import polyad
from polyad import backends
from polyad_fake.backend import FakeBackend
backends.register("fake", FakeBackend())
x = polyad.ones(200, 200, device="fake")
for _ in range(50):
    x = x @ x / 200
print("end")
"""
    assert run(program) == "end\n"


def run(program: str) -> str:
    source = f"import sys; sys.path.extend({sys.path!r})\n{program}"
    quiet = "-Wignore:This process:DeprecationWarning"  # Python 3.12 says it of every fork beside threads
    done = subprocess.run(
        [sys.executable, quiet, "-c", source], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------------------------------ rules


def test_a_kernel_that_makes_another_shape_than_the_rule_says_is_found_out(fake, monkeypatch) -> None:
    monkeypatch.setattr(OPS["exp"], "shape", lambda shape: (*shape, 1))
    polyad.ones(3, device="fake").exp()
    with pytest.raises(KernelFailure, match=r"exp: the kernel made float32 \(3,\) where .* say float32 \(3, 1\)"):
        polyad.accelerator.synchronize("fake")


# ------------------------------------------------------------------------------------------------------------ float64


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch, fake) -> None:
    monkeypatch.setenv("POLYAD_FAKE_FP64", "0")
    fake.info = info()


def test_a_device_without_float64(single) -> None:
    with pytest.raises(DTypeError, match="fake:0 has no float64") as caught:
        polyad.ones(2, dtype=polyad.float64, device="fake")
    assert "float32" in caught.value.lines["has"]
    assert "float64" not in caught.value.lines["has"]
    x = polyad.ones(2, device="fake", requires_grad=True)
    for call in (x.double, lambda: x.to(polyad.complex128), lambda: polyad.tensor(np.ones(2), device="fake")):
        with pytest.raises(DTypeError, match=r"fake:0 has no (float64|complex128)"):
            call()
    (x * 0.1).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.1, 0.1])
    assert polyad.randn(3, device="fake").dtype is polyad.float32
