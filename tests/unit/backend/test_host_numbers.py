"""0-d tensors of the cpu go with tensors of any device, and indices of the cpu read from any."""

from __future__ import annotations

import pytest

import polyad
from polyad import backends
from polyad.errors import DeviceError


@pytest.fixture(params=["toy", "meta"])
def device(request):
    if request.param == "toy":
        request.getfixturevalue("toy")
        with backends.fallback("allow"):
            yield "toy"
    else:
        yield "meta"


@pytest.mark.parametrize(
    "call",
    [
        lambda x, n: x * n,
        lambda x, n: n - x,
        lambda x, n: x > n,
        lambda x, n: x.clamp(min=n),
        lambda x, n: x.masked_fill(x > 1, n),
        lambda x, n: polyad.where(x > 1, x, n),
        lambda x, n: polyad.where(x > 1, n, n),
        lambda x, n: polyad.lerp(x, x + 1, n),
        lambda x, n: polyad.addcmul(x, x, n, value=2),
        lambda x, n: polyad.add(x, n, alpha=3),
        lambda x, n: x.clone().mul_(n),
        lambda x, n: polyad.add(x, n, out=polyad.empty(3, device=x.device)),
        lambda x, n: x.sum() / n,
        lambda x, n: x.long() + n.double(),
        lambda x, n: polyad.nn.functional.mse_loss(x[0], n),
    ],
)
def test_a_number_goes_with_any_device(device, call) -> None:
    values, number = polyad.tensor([0.0, 1.0, 2.0], device="cpu"), polyad.tensor(2.0, device="cpu")
    expected, found = call(values, number), call(values.to(device), number)
    assert found.device.type == device
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if device != "meta":
        assert found.tolist() == expected.tolist()


def test_its_gradient_comes_back(toy) -> None:
    with backends.fallback("allow"):
        x = polyad.tensor([1.0, 2.0], device="toy", requires_grad=True)
        scale = polyad.tensor(3.0, device="cpu", requires_grad=True)
        (x * scale).sum().backward()
    assert (scale.grad.device.type, scale.grad.item()) == ("cpu", 3.0)
    assert x.grad.tolist() == [3.0, 3.0]


def test_indices_of_the_cpu(toy) -> None:
    with backends.fallback("allow"):
        x = polyad.arange(6.0, device="toy").reshape(3, 2)
        rows = polyad.tensor([2, 0], device="cpu")
        assert x[rows].tolist() == [[4.0, 5.0], [0.0, 1.0]]
        assert x[:, rows[1:]].tolist() == [[0.0], [2.0], [4.0]]
        assert x[polyad.tensor([False, True, False], device="cpu")].tolist() == [[2.0, 3.0]]
        x[rows] = polyad.tensor(9.0, device="cpu")
        x.index_put_((rows,), polyad.ones(2, device="toy"), accumulate=True)
        assert x.tolist() == [[10.0, 10.0], [2.0, 3.0], [10.0, 10.0]]
        with pytest.raises(DeviceError, match="different devices"):
            polyad.arange(3, device="cpu")[polyad.tensor([0], device="toy")]


@pytest.mark.parametrize(
    "call",
    [
        lambda here, there, n: here + n.reshape(1),
        lambda here, there, n: here + there,
        lambda here, there, n: polyad.where(here > 0, there, n),
        lambda here, there, n: here.sum() + n.reshape(1),
        lambda here, there, n: n.add_(here.sum()),
        lambda here, there, n: polyad.stack([here.sum(), n]),
        lambda here, there, n: polyad.add(here, n, out=polyad.empty(2, device="cpu")),
    ],
)
def test_others_are_refused_still(toy, call) -> None:
    here, there = polyad.ones(2, device="toy:0"), polyad.ones(2, device="toy:1")
    with backends.fallback("allow"), pytest.raises(DeviceError, match="device"):
        call(here, there, polyad.tensor(1.0, device="cpu"))
