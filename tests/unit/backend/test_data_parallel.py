"""A module on several devices."""

from __future__ import annotations

import pytest

import polyad
from polyad import nn


def test_on_two_devices(fake):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()
    x = polyad.randn(5, 3)
    expected = model(x)
    wanted = polyad.autograd.grad(expected.square().sum(), list(model.parameters()))
    both = nn.DataParallel(model.to("fake:0"), device_ids=["fake:0", "fake:1"], output_device="fake:1")
    seen = []
    model[0].register_forward_hook(lambda layer, args, out: seen.append(str(out.device)))
    result = both(x.to("fake:0"))
    assert sorted(seen) == ["fake:0", "fake:1"]
    assert str(result.device) == "fake:1"
    assert polyad.allclose(result.cpu(), expected, atol=1e-6)
    result.square().sum().backward()
    for parameter, gradient in zip(model.parameters(), wanted, strict=True):
        assert str(parameter.grad.device) == "fake:0"
        assert polyad.allclose(parameter.grad.cpu(), gradient, atol=1e-5)


def test_all_devices_by_default(fake, monkeypatch):
    monkeypatch.setattr("polyad.devices.registry.names", lambda: ["cpu", "fake"])
    layer = nn.Linear(2, 1).to("fake:0")
    both = nn.DataParallel(layer)
    assert [str(device) for device in both.device_ids] == ["fake:0", "fake:1"]
    optimizer = polyad.optim.SGD(both.parameters(), lr=0.1)
    before = layer.weight.tolist()
    both(polyad.ones(4, 2)).sum().backward()  # the input comes from the host
    optimizer.step()
    assert layer.weight.tolist() == [[pytest.approx(value - 0.4) for value in before[0]]]
    assert both(polyad.ones(1, 2)).shape == (1, 1)  # fewer rows than devices
    assert nn.parallel.data_parallel(layer, polyad.ones(3, 2, device="fake:0"), [0, 1]).shape == (3, 1)


def test_running_statistics_are_those_of_the_first_device(fake):
    layer = nn.BatchNorm1d(1).to("fake:0")
    nn.DataParallel(layer, ["fake:0", "fake:1"])(polyad.tensor([[1.0], [3.0], [5.0], [9.0]], device="fake:0"))
    assert layer.running_mean.tolist() == [pytest.approx(0.2)]
    assert layer.num_batches_tracked.item() == 1
