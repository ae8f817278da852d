"""Losses of unusual targets: nothing to average, ignored, out of range; and of huge scores."""

from __future__ import annotations

import math

import pytest

import polyad
from polyad.nn import functional as F


def test_huge_scores_neither_overflow_nor_lose_the_gradient():
    x = polyad.tensor([[1e30, -1e30], [-1e4, 1e4]], requires_grad=True)
    loss = F.cross_entropy(x, polyad.tensor([0, 0]), reduction="sum")
    loss.backward()
    assert loss.item() == 2e4
    assert x.grad.tolist() == [[0.0, 0.0], [-1.0, 1.0]]


def test_the_mean_of_nothing_is_nan_as_in_pytorch():
    assert math.isnan(F.cross_entropy(polyad.zeros(2, 3), polyad.tensor([-100, -100])).item())
    assert math.isnan(F.cross_entropy(polyad.zeros(0, 3), polyad.zeros(0, dtype=polyad.int64)).item())


def test_the_message_names_position_value_and_range():
    target = polyad.zeros(2, 4, dtype=polyad.int64)
    target[1, 2] = 30522
    with pytest.raises(
        IndexError, match=r"cross_entropy: target\[1, 2\] = 30522 is not in \[0, 5\)\n    input .*\n    target"
    ):
        F.cross_entropy(polyad.zeros(2, 5, 4), target)


def test_an_ignored_class_within_the_range_gets_no_gradient():
    x = polyad.zeros(2, 2, requires_grad=True)
    F.cross_entropy(x, polyad.tensor([0, 1]), ignore_index=1).backward()
    assert x.grad.tolist() == [[-0.5, 0.5], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", [polyad.uint8, polyad.int32])
def test_any_integer_dtype_names_classes(dtype):
    target = polyad.tensor([1, 0]).to(dtype)
    assert F.nll_loss(polyad.tensor([[-1.0, -2.0], [-3.0, -4.0]]), target).item() == 2.5


def test_scores_in_columns():
    x = polyad.tensor([[0.0, 1.0, 5.0], [2.0, -1.0, 0.5]])
    target = polyad.tensor([0, 1, 1])
    assert F.cross_entropy(x.t(), target).item() == F.cross_entropy(x.t().contiguous(), target).item()


def test_binary_cross_entropy_at_the_ends():
    x = polyad.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(x, polyad.tensor([0.0, 1.0, 1.0, 0.0]), reduction="none")
    assert loss.tolist() == [0.0, 0.0, 100.0, 100.0]
    loss.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("name", ["multilabel_soft_margin_loss", "soft_margin_loss"])
def test_a_column_against_a_vector_is_refused(name):
    with pytest.raises(RuntimeError, match=r"input \(4, 1\) and target \(4,\) must have one shape"):
        getattr(F, name)(polyad.zeros(4, 1), polyad.zeros(4))


@pytest.mark.parametrize("name", ["hinge_embedding_loss", "kl_div", "mse_loss", "poisson_nll_loss"])
def test_a_column_against_a_vector_broadcasts_and_is_warned_about(name):
    column, vector = polyad.tensor([[-0.5], [-1.0]]), polyad.tensor([1.0, 0.25, 2.0])
    with pytest.warns(UserWarning, match=r"target \(3,\) has another shape than input \(2, 1\)"):
        loss = getattr(F, name)(column, vector, reduction="none")
    assert loss.tolist() == getattr(F, name)(column.expand(2, 3), vector.expand(2, 3), reduction="none").tolist()


def test_the_batch_of_kl_div_is_that_of_the_input():
    with pytest.warns(UserWarning, match="another shape"):
        loss = F.kl_div(polyad.ones(3), polyad.ones(2, 3), reduction="batchmean")
    assert loss.item() == -2


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradients_where_no_target_counts_are_zero(weight, smoothing):
    x = polyad.zeros(2, 3, requires_grad=True)
    weight = None if weight is None else polyad.tensor(weight)
    loss = F.cross_entropy(x, polyad.tensor([-100, -100]), weight, label_smoothing=smoothing)
    (first,) = polyad.autograd.grad(loss, x, create_graph=True)
    assert first.tolist() == [[0.0] * 3] * 2
    (second,) = polyad.autograd.grad((first * first).sum(), x)
    assert second.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("older", "reduction"),
    [
        ({"size_average": False}, "sum"),
        ({"size_average": True}, "mean"),
        ({"reduce": False}, "none"),
        ({"reduce": False, "size_average": False}, "none"),
        ({"reduce": True}, "mean"),
    ],
)
@pytest.mark.parametrize("loss", [F.mse_loss, F.cross_entropy, F.soft_margin_loss])
def test_older_arguments_say_the_reduction_and_warn(loss, older, reduction):
    x, target = polyad.tensor([[1.0, -2.0]]), polyad.tensor([[1.0, 0.0]])
    with pytest.warns(UserWarning, match=f"reduction='{reduction}'"):
        got = loss(x, target, **older)
    assert got.tolist() == loss(x, target, reduction=reduction).tolist()


def test_the_mean_divergence_warns_that_it_is_none():
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(polyad.zeros(2), polyad.ones(2))


def test_probabilities_promote_and_class_weights_do_not():
    x = polyad.zeros(2, 3)
    assert F.cross_entropy(x, polyad.ones(2, 3, dtype=polyad.float64)).dtype is polyad.float64
    with pytest.raises(RuntimeError, match="weight is float64, input is float32"):
        F.cross_entropy(x, polyad.tensor([0, 1]), polyad.ones(3, dtype=polyad.float64))


def test_soft_margin_of_huge_scores_is_finite():
    x = polyad.tensor([1e4, -1e4], requires_grad=True)
    loss = F.soft_margin_loss(x, polyad.tensor([-1.0, -1.0]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [1e4, 0.0]
    assert x.grad.tolist() == [1.0, 0.0]


def test_variances_below_eps_have_a_gradient():
    var = polyad.tensor([1e-12], requires_grad=True)
    loss = F.gaussian_nll_loss(polyad.ones(1), polyad.zeros(1), var, eps=0.5)
    loss.backward()
    assert loss.item() == pytest.approx(0.5 * (math.log(0.5) + 2))
    assert var.grad.item() == pytest.approx(0.5 * (2 - 4))


def test_older_forms_of_ctc_targets_agree():
    polyad.manual_seed(0)
    logs = polyad.randn(6, 3, 5).log_softmax(-1)
    padded = polyad.tensor([[1, 2, 2], [3, 0, 0], [4, 1, 0]])
    expected = F.ctc_loss(logs, padded, [6, 5, 6], [3, 1, 2], reduction="none")
    one_row = polyad.tensor([1, 2, 2, 3, 4, 1])
    lengths = polyad.tensor([6, 5, 6]), polyad.tensor([3, 1, 2], dtype=polyad.int32)
    assert F.ctc_loss(logs, one_row, *lengths, reduction="none").tolist() == expected.tolist()
    alone = F.ctc_loss(logs[:, 2], padded[2], 6, 2, reduction="none")
    assert alone.item() == pytest.approx(expected[2].item())


def test_ctc_gradient_of_scores_is_what_is_expected_less_what_the_targets_take():
    polyad.manual_seed(0)
    scores = polyad.randn(5, 2, 4, requires_grad=True)
    loss = F.ctc_loss(scores.log_softmax(-1), polyad.tensor([[1, 2], [3, 3]]), [5, 3], [2, 2], reduction="sum")
    loss.backward()
    assert scores.grad.sum(-1).abs().max().item() < 1e-6
    assert scores.grad[3:, 1].tolist() == [[0.0] * 4] * 2


def test_ctc_targets_without_room_have_no_finite_loss():
    logs = polyad.zeros(2, 1, 3, requires_grad=True)
    arguments = polyad.tensor([[1, 1]]), [2], [2]
    assert F.ctc_loss(logs, *arguments).item() == math.inf
    loss = F.ctc_loss(logs, *arguments, zero_infinity=True)
    loss.backward()
    assert loss.item() == 0
    assert logs.grad.tolist() == [[[0.0] * 3]] * 2


def test_linear_cross_entropy_ignores_as_cross_entropy_does():
    polyad.manual_seed(0)
    x, weight, bias = polyad.randn(4, 3), polyad.randn(5, 3), polyad.randn(5)
    target = polyad.tensor([0, -100, 4, 1])
    got = F.linear_cross_entropy(x, weight, target, linear_bias=bias)
    assert got.item() == pytest.approx(F.cross_entropy(F.linear(x, weight, bias), target).item())
    got = F.linear_cross_entropy(x, weight, target.clamp(min=1), ignore_index=1)
    assert got.item() == pytest.approx(F.cross_entropy(F.linear(x, weight), target.clamp(min=1), ignore_index=1).item())


def test_no_classes():
    with pytest.raises(IndexError, match=r"target\[0\] = 0 is not in \[0, 0\)"):
        F.cross_entropy(polyad.ones(2, 0), polyad.tensor([0, 0]))
    assert math.isnan(F.cross_entropy(polyad.ones(0, 0), polyad.tensor([], dtype=polyad.int64)).item())
