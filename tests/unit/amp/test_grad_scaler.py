"""GradScaler: the scale, skipped steps, the order of calls, and states."""

from __future__ import annotations

import math
import warnings

import pytest

import polyad
from polyad import nn, optim
from polyad.amp import GradScaler


def trained(*grads, **options):
    """A scaler and an SGD optimizer whose parameters get these gradients of the scaled loss."""
    scaler = GradScaler("cpu", **{"init_scale": 4.0, **options})
    params = [polyad.zeros(1, requires_grad=True) for _ in grads]
    optimizer = optim.SGD(params, lr=1.0)
    backward(scaler, optimizer, *grads)
    return scaler, optimizer


def backward(scaler, optimizer, *grads):
    optimizer.zero_grad()
    params = optimizer.param_groups[0]["params"]
    scaler.scale(sum((param * grad).sum() for param, grad in zip(params, grads, strict=True))).backward()


def values(optimizer):
    return [param.item() for param in optimizer.param_groups[0]["params"]]


class TestScale:
    def test_tensors_and_sequences(self):
        scaler = GradScaler("cpu", init_scale=4.0)
        assert scaler.scale(polyad.tensor(2.0)).item() == 8.0
        first, (second,) = scaler.scale([polyad.tensor(1.0), (polyad.tensor(2.0),)])
        assert (first.item(), second.item()) == (4.0, 8.0)
        for wrong in (3.0, "loss", None):
            with pytest.raises(ValueError, match="outputs"):
                scaler.scale(wrong)

    def test_the_step_is_that_of_the_gradients_without_scale(self):
        scaler, optimizer = trained(0.5, 2.0)
        assert [param.grad.item() for param in optimizer.param_groups[0]["params"]] == [2.0, 8.0]
        scaler.step(optimizer)
        scaler.update()
        assert values(optimizer) == [-0.5, -2.0]
        assert scaler.last_skip == []

    def test_gradients_may_be_clipped_between(self):
        scaler, optimizer = trained(3.0)
        scaler.unscale_(optimizer)
        assert optimizer.param_groups[0]["params"][0].grad.item() == 3.0
        optimizer.param_groups[0]["params"][0].grad.clamp_(max=1.0)
        scaler.step(optimizer)
        assert values(optimizer) == pytest.approx([-1.0])


class TestSkip:
    @pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
    def test_a_bad_gradient_skips_the_step_and_is_named(self, bad):
        scaler, optimizer = trained(0.5, bad)
        assert scaler.step(optimizer) is None
        scaler.update()
        assert values(optimizer) == [0.0, 0.0]
        assert scaler.last_skip == ['param_groups[0]["params"][1]']
        assert scaler.get_scale() == 2.0
        backward(scaler, optimizer, 1.0, 1.0)
        scaler.step(optimizer)
        assert scaler.last_skip == []
        assert values(optimizer) == [-1.0, -1.0]

    def test_named_parameters_have_their_names(self):
        model = nn.Linear(1, 1)
        optimizer = optim.SGD(model.named_parameters(), lr=1.0)
        scaler = GradScaler("cpu")
        scaler.scale(model(polyad.full((1, 1), math.inf)).sum()).backward()
        scaler.step(optimizer)
        assert scaler.last_skip == ["weight"]

    def test_of_two_optimizers_the_good_one_steps(self):
        scaler = GradScaler("cpu", init_scale=4.0)
        good, bad = polyad.zeros(1, requires_grad=True), polyad.zeros(1, requires_grad=True)
        first, second = optim.SGD([good], lr=1.0), optim.SGD([("bad", bad)], lr=1.0)
        scaler.scale((good + bad * math.inf).sum()).backward()
        scaler.step(first)
        scaler.step(second)
        scaler.update()
        assert (good.item(), bad.item()) == (-1.0, 0.0)
        assert scaler.last_skip == ["bad"]
        assert scaler.get_scale() == 2.0

    def test_many_in_a_row_raise(self):
        scaler, optimizer = trained(math.inf, max_skips=2)
        scaler.step(optimizer)
        scaler.update()
        backward(scaler, optimizer, math.inf)
        scaler.step(optimizer)
        with pytest.raises(FloatingPointError, match="2 steps in a row") as caught:
            scaler.update()
        assert 'param_groups[0]["params"][0]' in str(caught.value)
        backward(scaler, optimizer, 1.0)
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 1.0

    def test_a_good_step_in_between_counts_anew(self):
        scaler, optimizer = trained(math.inf, max_skips=2)
        for grad in (math.inf, 1.0, math.inf, 1.0):
            backward(scaler, optimizer, grad)
            scaler.step(optimizer)
            scaler.update()

    def test_a_schedule_is_not_warned_of_a_skipped_first_step(self):
        scaler, optimizer = trained(math.inf)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        scaler.step(optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schedule.step()


class TestUpdate:
    def test_growth_and_back_off(self):
        scaler, optimizer = trained(1.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
        found = []
        for grad in (1.0, 1.0, 1.0, math.inf, 1.0, 1.0):
            backward(scaler, optimizer, grad)
            scaler.step(optimizer)
            scaler.update()
            found.append(scaler.get_scale())
        assert found == [4.0, 12.0, 12.0, 3.0, 3.0, 9.0]

    def test_a_new_scale(self):
        scaler, _ = trained(1.0)
        for given in (16.0, polyad.tensor(16.0)):
            scaler.update(given)
            assert scaler.get_scale() == 16.0
            assert scaler.scale(polyad.tensor(1.0)).item() == 16.0

    def test_the_scale_stays_finite(self):
        scaler, optimizer = trained(0.0, init_scale=2.0**127, growth_interval=1)
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 2.0**127


class TestOrder:
    def test_unscale_twice(self):
        scaler, optimizer = trained(1.0)
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError, match=r"unscale_\(\) was called"):
            scaler.unscale_(optimizer)
        assert optimizer.param_groups[0]["params"][0].grad.item() == 1.0

    def test_unscale_after_step(self):
        scaler, optimizer = trained(1.0)
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match=r"step\(\) was called"):
            scaler.unscale_(optimizer)

    def test_step_twice(self):
        scaler, optimizer = trained(1.0)
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match=r"step\(\) was called"):
            scaler.step(optimizer)
        assert values(optimizer) == [-1.0]

    @pytest.mark.parametrize("unscaled", [False, True])
    @pytest.mark.parametrize("grad", [math.inf, 1.0])
    def test_update_between_two_optimizers(self, unscaled, grad):
        scaler = GradScaler("cpu", init_scale=4.0, growth_interval=1)
        params = [polyad.zeros(1, requires_grad=True) for _ in range(2)]
        first, second = [optim.SGD([param], lr=1.0) for param in params]
        scaler.scale((params[0] * grad + params[1]).sum()).backward()
        if unscaled:
            scaler.unscale_(second)
        scaler.step(first)
        scaler.update()
        for method in (scaler.step, scaler.unscale_):
            with pytest.raises(RuntimeError, match="divided twice" if unscaled else "from 4 to"):
                method(second)
        assert params[1].item() == 0.0
        assert params[1].grad.item() == (1.0 if unscaled else 4.0)
        second.zero_grad()
        scaler.scale(params[1].sum()).backward()
        scaler.step(second)
        assert params[1].item() == -1.0

    def test_update_without_a_step(self):
        scaler = GradScaler("cpu")
        with pytest.raises(AssertionError, match="no gradients were checked"):
            scaler.update()
        assert scaler.get_scale() == 2.0**16

    def test_no_gradients(self):
        optimizer = optim.SGD([polyad.zeros(1, requires_grad=True)])
        with pytest.raises(AssertionError, match="no parameter"):
            GradScaler("cpu").step(optimizer)

    def test_closures(self):
        scaler, optimizer = trained(1.0)
        with pytest.raises(RuntimeError, match="closure"):
            scaler.step(optimizer, closure=lambda: None)
        with pytest.raises(RuntimeError, match="closure"):
            scaler.step(optimizer, lambda: None)
        assert values(optimizer) == [0.0]

    def test_float16_gradients(self):
        param = polyad.zeros(1, dtype=polyad.float16, requires_grad=True)
        other = polyad.zeros(1, requires_grad=True)
        optimizer = optim.SGD([other, param])
        param.grad, other.grad = polyad.ones(1, dtype=polyad.float16), polyad.ones(1)
        with pytest.raises(ValueError, match="float16"):
            GradScaler("cpu").unscale_(optimizer)
        assert other.grad.item() == 1.0


class TestState:
    def test_goes_on(self):
        scaler, optimizer = trained(1.0, growth_interval=2)
        scaler.step(optimizer)
        scaler.update()
        other = GradScaler("cpu")
        other.load_state_dict(scaler.state_dict())
        assert other.state_dict() == scaler.state_dict()
        backward(other, optimizer, 1.0)
        other.step(optimizer)
        other.update()
        assert other.get_scale() == 8.0

    @pytest.mark.parametrize(("state", "error"), [({}, RuntimeError), ({"scale": 2.0}, RuntimeError), (3, TypeError)])
    def test_what_does_not_fit_changes_nothing(self, state, error):
        scaler = GradScaler("cpu")
        before = scaler.state_dict()
        with pytest.raises(error):
            scaler.load_state_dict(state)
        assert scaler.state_dict() == before

    def test_disabled(self):
        scaler, optimizer = trained(1.0, enabled=False)
        assert optimizer.param_groups[0]["params"][0].grad.item() == 1.0
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        assert values(optimizer) == [-1.0]
        assert (scaler.state_dict(), scaler.get_scale(), scaler.is_enabled()) == ({}, 1.0, False)
        scaler.load_state_dict({})

    def test_without_cuda_it_is_disabled(self):
        if polyad.cuda.is_available():
            pytest.skip("there is a cuda device")
        with pytest.warns(UserWarning, match="no cuda device"):
            assert not GradScaler().is_enabled()
        with pytest.warns(UserWarning, match="no cuda device"):
            assert not polyad.cuda.amp.GradScaler().is_enabled()
        assert polyad.cpu.amp.GradScaler(init_scale=2.0).get_scale() == 2.0

    def test_options(self):
        for wrong in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"max_skips": 0}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                GradScaler("cpu", **wrong)
        scaler = GradScaler("cpu")
        scaler.set_growth_factor(3.0)
        scaler.set_backoff_factor(0.25)
        scaler.set_growth_interval(7)
        found = scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()
        assert found == (3.0, 0.25, 7)


def test_float16_training_reaches_float32s_loss():
    def train(dtype):
        polyad.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = optim.Adam(model.parameters(), lr=0.02)
        scaler = GradScaler("cpu", enabled=dtype is polyad.float16)
        x = polyad.randn(64, 4)
        y = (x[:, :1] * x[:, 1:2]).sin()
        for _ in range(200):
            optimizer.zero_grad()
            with polyad.autocast("cpu", dtype=dtype or polyad.bfloat16, enabled=dtype is not None):
                loss = nn.functional.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return loss.item()

    full = train(None)
    assert full < 0.05
    for dtype in (polyad.float16, polyad.bfloat16):
        assert train(dtype) < full + 0.01
