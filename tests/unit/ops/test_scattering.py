"""gather, scatter and their like: forms, aliasing, and places that are named often."""

from __future__ import annotations

import numpy as np
import pytest

import polyad


def tensors(random, shape, count, dtype):
    index = random.integers(0, shape[1], (shape[0], count))
    x, src = (
        polyad.tensor(random.permutation(100)[: int(np.prod(size))].reshape(size)) for size in (shape, index.shape)
    )
    return x.to(dtype), polyad.tensor(index), src.to(dtype)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_index_reduce_is_scatter_reduce_of_whole_slices(reduce, include_self):
    random = np.random.default_rng(0)
    x, index, src = tensors(random, (3, 4), 6, polyad.float64)
    if reduce == "sum":
        with pytest.raises(RuntimeError, match="reduce is 'sum'"):
            polyad.index_reduce(x, 1, index[0], src, reduce)
        return
    whole = index[:1].expand(3, 6)
    expected = x.scatter_reduce(1, whole, src, reduce, include_self=include_self)
    assert polyad.equal(x.index_reduce(1, index[0], src, reduce, include_self=include_self), expected)


def test_in_place_forms_write_where_views_see_it():
    x = polyad.zeros(2, 3)
    row = x[0]
    x.scatter_reduce_(1, polyad.tensor([[0, 0], [1, 1]]), polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), "sum")
    assert row.tolist() == [3, 0, 0]
    x.index_reduce_(0, polyad.tensor([0]), polyad.full((1, 3), 9.0), "amax")
    assert row.tolist() == [9, 9, 9]
    x.put_(polyad.tensor([-6]), polyad.tensor([1.0]))
    x.masked_scatter_(x == 9, polyad.tensor([5.0, 6.0]))
    assert row.tolist() == [1, 5, 6]


def test_a_0d_source_is_one_value_for_all():
    value = polyad.tensor(5.0, requires_grad=True)
    made = polyad.zeros(3).scatter(0, polyad.tensor([0, 2]), value)
    assert made.tolist() == [5, 0, 5]
    made.sum().backward()
    assert value.grad.item() == 2


def test_out_of_range_is_an_index_error_and_what_pytorch_says():
    x, index = polyad.zeros(3), polyad.tensor([0, 3])
    for kind in (IndexError, RuntimeError):
        with pytest.raises(kind, match=r"index\[1\] = 3 is not in \[0, 3\)"):
            x.gather(0, index)
    assert x.scatter(0, polyad.tensor([], dtype=polyad.int64), 1.0).tolist() == [0, 0, 0]


def test_a_mean_of_integers_rounds_down():
    x = polyad.tensor([-1, 10])
    index = polyad.tensor([0, 0, 1])
    assert x.scatter_reduce(0, index, polyad.tensor([-1, -2, 1]), "mean").tolist() == [-2, 5]
    assert x.scatter_reduce(0, index, polyad.tensor([-1, -2, 1]), "mean", include_self=False).tolist() == [-2, 1]


def test_halves_reduce_in_single_precision():
    x = polyad.zeros(1, dtype=polyad.float16)
    ones = polyad.ones(4096, dtype=polyad.float16)
    index = polyad.zeros(4096, dtype=polyad.int64)
    assert x.scatter_reduce(0, index, ones, "sum").item() == 4096
    assert x.scatter_reduce(0, index, ones * 3, "mean", include_self=False).item() == 3


def test_masked_scatter_takes_as_many_elements_as_the_mask_names():
    source = polyad.arange(6.0, requires_grad=True)
    mask = polyad.tensor([[True, False], [True, True]])
    made = polyad.zeros(2, 2).masked_scatter(mask, source.reshape(2, 3))
    assert made.tolist() == [[0, 0], [1, 2]]
    made.sum().backward()
    assert source.grad.tolist() == [1, 1, 1, 0, 0, 0]


def test_negative_positions():
    x = polyad.arange(6.0).reshape(2, 3)
    assert polyad.take_along_dim(x, polyad.tensor([[-1], [0]]), 1).tolist() == [[2], [3]]
    assert x.index_fill(1, polyad.tensor([-1]), 9.0).tolist() == [[0, 1, 9], [3, 4, 9]]
    with pytest.raises(IndexError, match=r"= -4 is not in"):
        x.index_fill(1, polyad.tensor([-4]), 9.0)
    with pytest.raises(IndexError, match="count from 0"):
        x.index_select(1, polyad.tensor([-1]))
