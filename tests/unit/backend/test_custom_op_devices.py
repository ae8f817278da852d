"""Custom ops on a device that is not the host."""

import pytest

import polyad
from polyad import Tensor, backends
from polyad.errors import DeviceError, MissingKernel
from polyad.library import custom_op, opcheck


def twice():
    @custom_op("devices::twice", mutates_args=(), device_types="cpu")
    def twice(x: Tensor) -> Tensor:
        return polyad.from_numpy(x.numpy() * 2)

    twice.register_autograd(lambda ctx, g: g * 2)
    return twice


def test_no_kernel_is_an_error_unless_the_policy_allows_the_host(toy) -> None:
    op = twice()
    x = polyad.ones(3, device="toy")
    with pytest.raises(MissingKernel, match="devices::twice: it has no kernel for toy") as caught:
        op(x)
    assert "polyad.library.register_kernel('devices::twice', 'toy', function)" in caught.value.fix
    with backends.fallback("allow"):
        out = op(x)
    assert str(out.device) == "toy:0"
    assert out.tolist() == [2.0, 2.0, 2.0]
    (record,) = [one for one in backends.fallback_report() if one.op == "devices::twice"]
    assert (record.calls, record.bytes) == (1, 2 * 3 * 4)
    assert record.call_site.startswith("test_custom_op_devices.py:")


def test_writes_on_the_host_come_back(toy) -> None:
    @custom_op("devices::fill", mutates_args=("x",), device_types="cpu")
    def fill(x: Tensor) -> None:
        x.numpy()[...] = 5.0

    x = polyad.zeros(2, device="toy")
    with backends.fallback("allow"):
        fill(x)
    assert x.tolist() == [5.0, 5.0]


def test_a_kernel_of_its_own_is_used_and_compared(toy) -> None:
    op = twice()
    seen = []

    @op.register_kernel("toy")
    def _(x):
        seen.append(str(x.device))
        return x.to("cpu").mul(2).to(x.device)

    assert op(polyad.ones(2, device="toy")).tolist() == [2.0, 2.0]
    assert seen == ["toy:0"]
    assert opcheck(op, (polyad.ones(2),))["test_devices"] == "SUCCESS"
    op.register_kernel("toy", lambda x: x.to("cpu").mul(3).to(x.device))
    with pytest.raises(RuntimeError, match="the kernel for toy gives other results than that for cpu"):
        opcheck(op, (polyad.ones(2),))


def test_tensors_on_two_devices(toy) -> None:
    @custom_op("devices::add", mutates_args=())
    def add(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    with pytest.raises(DeviceError, match="devices::add: tensors are on different devices"):
        add(polyad.ones(2), polyad.ones(2, device="toy"))
