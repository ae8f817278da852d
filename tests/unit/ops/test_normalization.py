"""Running statistics, and gradients of the statistics themselves."""

from __future__ import annotations

import pytest

import polyad
from polyad.nn import functional as F
from polyad.ops.nn.normalization import _batch_norm


def test_running_statistics_move_towards_the_batch():
    x = polyad.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])
    mean, var = polyad.tensor([10.0, 0.0]), polyad.tensor([1.0, 1.0])
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    # Batch means 3 and 1; unbiased variances 4 and 3.
    assert mean.tolist() == [0.75 * 10 + 0.25 * 3, 0.25]
    assert var.tolist() == [0.75 + 0.25 * 4, 0.75 + 0.25 * 3]
    assert (mean._version > 0, mean.requires_grad) == (True, False)


def test_evaluation_leaves_running_statistics_alone():
    mean, var = polyad.zeros(2), polyad.ones(2)
    F.batch_norm(polyad.randn(4, 2), mean, var)
    assert (mean.tolist(), var.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_running_statistics_keep_no_history():
    mean, var = polyad.zeros(2), polyad.ones(2)
    x = polyad.randn(4, 2, requires_grad=True)
    F.batch_norm(x, mean, var, training=True).sum().backward()
    assert not mean.requires_grad
    assert not var.requires_grad


@pytest.mark.parametrize("affine", [True, False])
def test_second_gradients_go_through_the_saved_statistics(affine):
    """The gradient's gradient against finite differences of the gradient."""
    polyad.manual_seed(0)
    x = polyad.randn(4, 2, 3, dtype=polyad.float64, requires_grad=True)
    weight = polyad.tensor([1.5, -0.5], dtype=polyad.float64, requires_grad=True) if affine else None
    g, direction = polyad.randn(4, 2, 3, dtype=polyad.float64), polyad.randn(4, 2, 3, dtype=polyad.float64)

    def slope(at):
        out = F.batch_norm(at, None, None, weight, None, True)
        (first,) = polyad.autograd.grad(out, at, g, create_graph=True)
        return (first * direction).sum()

    (second,) = polyad.autograd.grad(slope(x), x)
    step = 1e-6
    for place in ((0, 0, 0), (2, 1, 1), (3, 0, 2)):
        moved = polyad.zeros(4, 2, 3, dtype=polyad.float64)
        moved[place] = step
        ahead, behind = ((x + sign * moved).detach().requires_grad_() for sign in (1, -1))
        # Central differences: an error of step**2 times the third derivative, and of 1e-16 / step.
        assert float(second[place]) == pytest.approx(
            float(slope(ahead) - slope(behind)) / (2 * step), rel=1e-5, abs=1e-7
        )


def test_absent_weight_gets_no_gradient_but_bias_does():
    x, bias = polyad.randn(4, 2), polyad.zeros(2, requires_grad=True)
    F.batch_norm(x, None, None, None, bias, True).sum().backward()
    assert bias.grad.tolist() == [4.0, 4.0]


def test_half_precision_keeps_float32_statistics():
    x = polyad.randn(8, 2).to(polyad.float16)
    out, mean, var = _batch_norm(x, None, None, 1e-5)
    assert (out.dtype, mean.dtype, var.dtype) == (polyad.float16, polyad.float32, polyad.float32)


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 2, 2)])
@pytest.mark.parametrize("training", [False, True])
def test_an_empty_batch_leaves_the_running_statistics(shape, training):
    x, weight = polyad.zeros(shape, requires_grad=True), polyad.ones(3, requires_grad=True)
    mean, variance = polyad.full((3,), 2.0), polyad.ones(3)
    out = F.batch_norm(x, mean, variance, weight, training=training)
    out.sum().backward()
    assert out.shape == x.grad.shape == shape
    assert (mean == 2).all()
    assert (variance == 1).all()
    assert (weight.grad == 0).all()


def test_instance_statistics_are_averaged_over_the_batch():
    x = polyad.tensor([[[1.0, 3.0]], [[0.0, 8.0]]])
    mean, var = polyad.zeros(1), polyad.ones(1)
    F.instance_norm(x, mean, var, momentum=0.5)
    assert mean.tolist() == [0.5 * (2.0 + 4.0) / 2]
    assert var.tolist() == [0.5 + 0.5 * (2.0 + 32.0) / 2]


def test_instance_norm_is_batch_norm_of_each_sample():
    polyad.manual_seed(0)
    x, weight, bias = polyad.randn(3, 2, 5), polyad.randn(2), polyad.randn(2)
    got = F.instance_norm(x, weight=weight, bias=bias)
    for sample, normalized in zip(x, got, strict=True):
        expected = F.batch_norm(sample.unsqueeze(0), None, None, weight, bias, True)[0]
        assert polyad.allclose(normalized, expected, atol=1e-6)


def test_rms_norm_of_small_half_precision_does_not_vanish():
    x = polyad.full((2, 3), 1e-3, dtype=polyad.float16)
    made = F.rms_norm(x, (3,), eps=0.0)
    assert made.dtype is polyad.float16
    assert made.tolist() == [[1.0] * 3] * 2
    assert F.rms_norm(x, (3,), polyad.full((3,), 2.0), eps=0.0).tolist() == [[2.0] * 3] * 2


def test_group_norm_of_half_precision_with_wide_weights_stays_half():
    x = polyad.randn(2, 4, 3).to(polyad.float16)
    assert F.group_norm(x, 2, polyad.ones(4), polyad.zeros(4)).dtype is polyad.float16
