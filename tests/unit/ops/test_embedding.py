"""Embeddings: norms that are kept, gradients by frequency, and bags at their ends."""

from __future__ import annotations

import pytest

import polyad
from polyad.nn import functional as F


def table(**kwargs):
    return polyad.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0], [0.0, 2.0]], **kwargs)


@pytest.mark.parametrize("look_up", [F.embedding, lambda index, weight, **k: F.embedding_bag(index, weight, **k)])
def test_max_norm_shortens_rows_that_are_looked_up(look_up):
    weight = table()
    look_up(polyad.tensor([[0, 1, 0]]), weight, max_norm=1.0)
    assert weight[0].tolist() == pytest.approx([0.6, 0.8])
    assert weight[1].tolist() == pytest.approx([0.3, 0.4])
    assert weight[2].tolist() == [6.0, 8.0]


def test_max_norm_of_another_norm_and_of_a_parameter():
    weight = table(requires_grad=True)
    F.embedding(polyad.tensor([0, 3]), weight, max_norm=1.0, norm_type=1.0).sum().backward()
    assert weight.detach()[0].tolist() == pytest.approx([3 / 7, 4 / 7])
    assert weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]


def test_gradients_by_frequency_and_padding():
    weight = table(requires_grad=True)
    index = polyad.tensor([0, 1, 1, 2, 2, 2])
    F.embedding(index, weight, padding_idx=0, scale_grad_by_freq=True).sum().backward()
    assert weight.grad.tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]
    weight.grad = None
    bags = F.embedding_bag(index, weight, polyad.tensor([0, 2]), mode="sum", scale_grad_by_freq=True)
    (bags * polyad.tensor([[1.0], [2.0]])).sum().backward()
    assert weight.grad.tolist() == [[1, 1], [1.5, 1.5], [2, 2], [0, 0]]


def test_gradient_by_frequency_differentiates_again():
    weight = table(requires_grad=True)
    rows = F.embedding(polyad.tensor([1, 1, 3]), weight, scale_grad_by_freq=True)
    (first,) = polyad.autograd.grad((rows * rows).sum(), weight, create_graph=True)
    assert first[1].tolist() == pytest.approx([0.6, 0.8])
    first.sum().backward()
    assert weight.grad is not None


def test_sparse_gives_the_same_gradient_of_the_rows_alone():
    weight = table(requires_grad=True)
    F.embedding(polyad.tensor([0, 2]), weight, sparse=True).sum().backward()
    assert weight.grad.layout is polyad.sparse_coo
    assert weight.grad._indices().tolist() == [[0, 2]]
    assert weight.grad.to_dense().tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_the_last_offset_ends_the_last_bag(mode):
    index, weight = polyad.tensor([0, 1, 2, 3, 0]), table()
    ended = F.embedding_bag(index, weight, polyad.tensor([0, 2, 4]), mode=mode, include_last_offset=True)
    assert ended.tolist() == F.embedding_bag(index[:4], weight, polyad.tensor([0, 2]), mode=mode).tolist()


def test_the_largest_of_equals_gets_the_gradient_once():
    weight = polyad.zeros(3, 2, requires_grad=True)
    F.embedding_bag(polyad.tensor([[2, 1, 2]]), weight, mode="max").sum().backward()
    assert weight.grad.tolist() == [[0, 0], [0, 0], [1, 1]]


def test_bags_of_nothing_are_zero():
    weight = table()
    out = F.embedding_bag(polyad.tensor([1, 1]), weight, polyad.tensor([0, 0, 2, 2]), mode="max")
    assert out.tolist() == [[0, 0], pytest.approx([0.3, 0.4]), [0, 0], [0, 0]]


def test_one_hot_of_a_single_number_and_a_negative_one():
    assert F.one_hot(polyad.tensor(1), 3).tolist() == [0, 1, 0]
    with pytest.raises(IndexError, match=r"one_hot: tensor\[1\] = -2 is not in \[0, 3\)"):
        F.one_hot(polyad.tensor([0, -2]), 3)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("settings", [{}, {"scale_grad_by_freq": True}, {"per_sample_weights": True}])
def test_what_lies_behind_the_last_offset_is_in_no_bag(mode, padding, settings):
    if settings and (mode == "max" or ("per_sample_weights" in settings and mode != "sum")):
        return
    index, offsets = polyad.tensor([1, 2, 2, 0, 3, 1, 2]), polyad.tensor([0, 2, 2, 5])
    table = (polyad.arange(12.0).reshape(4, 3) - 5.5).sin()
    table[0] = float("inf")  # of what is in no bag nothing may come, not even 0 times inf
    index[3], index[5] = 1, 0

    def results(end):
        weight = table.clone().requires_grad_()
        factors = polyad.tensor([1.0, 2, 3, 4, 5, 6, 7])[:end].requires_grad_()
        given = {**settings, "per_sample_weights": factors} if "per_sample_weights" in settings else settings
        bags = polyad.nn.functional.embedding_bag(
            index[:end], weight, offsets, mode=mode, padding_idx=padding, include_last_offset=True, **given
        )
        bags.square().sum().backward()
        slopes = factors.grad[:5].tolist() if factors.grad is not None else None
        return bags.tolist(), weight.grad.tolist(), slopes

    assert results(7) == results(5)


def test_bags_of_the_main_namespace_take_the_table_first():
    table, bags = polyad.tensor([[1.0], [2.0], [4.0]]), polyad.tensor([0, 2])
    sums, *rest = polyad.embedding_bag(table, polyad.tensor([0, 1, 2]), bags)
    assert sums.tolist() == [[3], [4]]
    assert [one.dtype for one in rest] == [polyad.int64] * 3
    assert polyad.embedding_bag(table, polyad.tensor([0, 1, 2]), bags, mode=2)[0].tolist() == [[2], [4]]


def test_the_old_order_of_embedding_bag_is_understood():
    table, index = polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), polyad.tensor([[0, 1]])
    with pytest.warns(UserWarning, match="old order"):
        bags = F.embedding_bag(table, index)
    assert bags.tolist() == F.embedding_bag(index, table).tolist()
