"""Pooling beyond samples: NaN and infinity, random windows, what pooling and unpooling are to each other."""

from __future__ import annotations

import math

import pytest

import polyad
from polyad.nn import functional as F


def test_maximum_gives_its_gradient_to_the_first_of_equals_and_to_nan():
    x = polyad.tensor([[[1.0, 2.0, 3.0, 0.0], [2.0, 2.0, float("nan"), 5.0]]], requires_grad=True)
    F.max_pool2d(x, 2).backward(polyad.tensor([[[10.0, 20.0]]]))
    assert x.grad.tolist() == [[[0.0, 10.0, 0.0, 0.0], [0.0, 0.0, 20.0, 0.0]]]


def test_an_infinite_gradient_stays_where_it_belongs():
    x = polyad.tensor([[[1.0, 2.0]]], requires_grad=True)
    F.max_pool2d(x, (1, 2)).backward(polyad.tensor([[[float("inf")]]]))
    assert x.grad.tolist() == [[[0.0, float("inf")]]]


def test_the_way_back_computes_no_maxima_again():
    x = polyad.rand(1, 1, 4, 4, requires_grad=True)
    pooled = F.max_pool2d(x, 2)
    pooled.detach().zero_()
    with polyad.profiler.profile() as recorded:
        pooled.sum().backward()
    assert "max_pool" not in {event.name for event in recorded.events()}
    assert x.grad.sum() == 4


def test_every_kind_of_maximum_takes_nan():
    x = polyad.tensor([[1.0, 9.0, 2.0, math.nan, 3.0, 4.0, 0.0]])
    for pooled, indices in (
        F.max_pool1d(x, 2, return_indices=True),
        F.adaptive_max_pool1d(x, 3, return_indices=True),
    ):
        wrong = pooled.isnan()
        assert bool(wrong.any())
        assert indices[wrong].unique().tolist() == [3]
    samples = polyad.tensor([[[0.5, 0.5]]])
    pooled = F.fractional_max_pool2d(x.reshape(1, 1, 7), (1, 2), (1, 6), _random_samples=samples)
    assert pooled.isnan().flatten().tolist() == [False, False, True, True, False, False]


def test_adaptive_pooling_keeps_infinity_in_its_windows():
    x = polyad.tensor([[1.0, 1.0, 1.0, 1.0, math.inf]])
    # Windows [0, 2), [1, 4), [3, 5).
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[1.0, 1.0, math.inf]]


@pytest.mark.parametrize(("size", "count"), [(7, 3), (3, 7), (23, 2), (5, 5)])
def test_the_gradient_of_adaptive_means_shares_out_what_arrives(size, count):
    x = polyad.zeros(1, 1, size, dtype=polyad.float64, requires_grad=True)
    F.adaptive_avg_pool1d(x, count).backward(polyad.ones(1, 1, count, dtype=polyad.float64))
    expected = [0.0] * size
    for i in range(count):
        start, end = i * size // count, -(-(i + 1) * size // count)
        for place in range(start, end):
            expected[place] += 1 / (end - start)
    assert x.grad[0, 0].tolist() == pytest.approx(expected)


def test_unpooling_undoes_pooling():
    polyad.manual_seed(0)
    x = polyad.rand(2, 3, 6, 8)
    pooled, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(pooled, indices, 2)
    assert bool((F.max_pool2d(back, 2) == pooled).all())
    assert int((back != 0).sum()) == pooled.numel()
    # The whole shape may be given, as in PyTorch's examples.
    assert F.max_unpool2d(pooled, indices, 2, output_size=x.shape).shape == x.shape


def test_fractional_windows_are_random_and_follow_the_seed():
    x = polyad.arange(400.0).reshape(1, 1, 20, 20)
    polyad.manual_seed(1)
    first = F.fractional_max_pool2d(x, 2, output_size=8)
    assert not bool((F.fractional_max_pool2d(x, 2, output_size=8) == first).all())
    polyad.manual_seed(1)
    assert bool((F.fractional_max_pool2d(x, 2, output_size=8) == first).all())
    # Windows rise, and the last one ends with the image.
    assert bool((first.diff(dim=3) > 0).all())
    assert float(first[0, 0, -1, -1]) == 399


def test_integer_means_are_rounded_towards_zero():
    x = polyad.tensor([[-7, 0, 7, 0]])
    assert F.avg_pool1d(x, 2).tolist() == [[-3, 3]]
    assert F.avg_pool2d(x[None], (1, 2), divisor_override=-2).tolist() == [[[3, -3]]]


def test_lp_pool_has_no_gradient_where_a_window_is_zero():
    x = polyad.zeros(1, 4, requires_grad=True)
    F.lp_pool1d(x, 2, 2).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_adaptive_maxima_of_no_channels_are_refused(count):
    pool = getattr(F, f"adaptive_max_pool{count}d")
    assert pool(polyad.zeros(0, 2, *(4,) * count), 2).shape == (0, 2, *(2,) * count)
    with pytest.raises(RuntimeError, match="only the batch may be empty"):
        pool(polyad.zeros(1, 0, *(4,) * count), 2)


def test_unpooling_an_empty_batch_keeps_the_gradient():
    x = polyad.zeros(0, 2, 4, requires_grad=True)
    F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2).sum().backward()
    assert x.grad.shape == (0, 2, 4)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_pooling_with_indices_under_its_own_name(count):
    x = polyad.arange(4.0**count).reshape(1, *(4,) * count)
    named = getattr(F, f"max_pool{count}d_with_indices")(x, 2)
    for one, other in zip(named, getattr(F, f"max_pool{count}d")(x, 2, return_indices=True), strict=True):
        assert one.tolist() == other.tolist()
