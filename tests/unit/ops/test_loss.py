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


def test_a_column_against_a_vector_is_refused():
    with pytest.raises(RuntimeError, match=r"input \(4, 1\) and target \(4,\) must have one shape"):
        F.mse_loss(polyad.zeros(4, 1), polyad.zeros(4))
