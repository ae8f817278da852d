"""Distributions, in-place forms and dropout: whether the bits mean what they should (conformance checks the bits).

Bounds on means and frequencies are five standard deviations of the statistic, at fixed seeds.
"""

from __future__ import annotations

import math

import pytest

import polyad
from polyad.nn import functional as F

COUNT = 100_000


def generator():
    return polyad.Generator().manual_seed(12345)


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda: polyad.rand(COUNT, generator=generator()), 1 / 2, 1 / 12),
        (lambda: polyad.randn(COUNT, generator=generator()), 0, 1),
        (lambda: polyad.randint(0, 10, (COUNT,), generator=generator()).to(polyad.float64), 4.5, 99 / 12),
        (lambda: polyad.empty(COUNT).exponential_(2.0, generator=generator()), 1 / 2, 1 / 4),
        (lambda: polyad.empty(COUNT).bernoulli_(0.3, generator=generator()), 0.3, 0.21),
        (lambda: polyad.normal(polyad.full((COUNT,), 2.0), 3.0, generator=generator()), 2, 9),
    ],
)
def test_mean(draw, mean, variance):
    assert float(draw().to(polyad.float64).mean()) == pytest.approx(mean, abs=5 * math.sqrt(variance / COUNT))


def test_permutations_are_permutations_and_differ():
    first, second = polyad.randperm(100, generator=generator()), polyad.randperm(100)
    assert sorted(first.tolist()) == list(range(100))
    assert first.tolist() != second.tolist()


def test_draws_without_replacement_favour_heavy_positions():
    picked = polyad.multinomial(polyad.tensor([[1.0, 9.0]]).expand(10_000, 2), 1, generator=generator())
    assert float(picked.to(polyad.float64).mean()) == pytest.approx(0.9, abs=5 * math.sqrt(0.09 / 10_000))


@pytest.mark.parametrize("name", ["uniform_", "normal_", "exponential_", "random_", "bernoulli_"])
def test_in_place_forms_write_return_and_count(name):
    x = polyad.zeros(3, 4)
    view = x[1]
    assert getattr(view, name)(generator=generator()) is view
    assert x._version == 1
    assert not x[0].any()
    assert x[1].any()


def test_leaves_are_not_overwritten():
    x = polyad.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="uniform_: a leaf"):
        x.uniform_()
    with polyad.no_grad():
        assert x.uniform_(1, 2).min() >= 1


@pytest.mark.parametrize(
    ("dtype", "most"), [(polyad.uint8, 255), (polyad.int8, 127), (polyad.bool, 1), (polyad.int64, 2**63 - 1)]
)
def test_random_without_bounds_fills_the_dtype(dtype, most):
    values = polyad.empty(2000, dtype=dtype).random_(generator=generator()).tolist()
    assert 0 <= min(values) <= most // 100
    assert most - most // 100 <= max(values) <= most


@pytest.mark.parametrize(
    ("dtype", "end"), [(polyad.uint8, 256), (polyad.int8, 128), (polyad.bfloat16, 257), (polyad.int64, 2**63)]
)
@pytest.mark.parametrize("start", [0, 100])
def test_random_from_a_number_on_goes_to_the_end_of_the_dtype(dtype, end, start):
    values = polyad.empty(3000, dtype=dtype).random_(start, None, generator=generator()).tolist()
    assert start <= min(values) <= start + (end - start) // 20
    assert end - (end - start) // 20 <= max(values) < end


def test_random_fills_int64_from_its_least_number_on():
    values = polyad.empty(3000, dtype=polyad.int64).random_(-(2**63), None, generator=generator()).tolist()
    assert min(values) < -(2**62) * 1.9
    assert max(values) > 2**62 * 1.9


def test_dropout_scales_what_it_keeps_and_its_gradient_has_the_same_mask():
    x = polyad.ones(1000, requires_grad=True)
    out = F.dropout(x, 0.2)
    assert set(out.tolist()) == {0.0, 1.25}
    assert float((out > 0).to(polyad.float64).mean()) == pytest.approx(0.8, abs=5 * math.sqrt(0.16 / 1000))
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


def test_dropout_in_place_and_off():
    x = polyad.ones(100)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 0.5, inplace=True) is x
    assert set(x.tolist()) == {0.0, 2.0}


def test_dropout_differs_from_call_to_call_but_follows_the_seed():
    polyad.manual_seed(3)
    first, second = F.dropout(polyad.ones(64)).tolist(), F.dropout(polyad.ones(64)).tolist()
    polyad.manual_seed(3)
    assert first != second
    assert F.dropout(polyad.ones(64)).tolist() == first


def test_complex_numbers_have_parts_of_half_the_variance():
    x = polyad.randn(40_000, dtype=polyad.complex64)
    assert x.is_leaf
    assert x.real.var().item() == pytest.approx(0.5, abs=0.02)
    assert x.imag.var().item() == pytest.approx(0.5, abs=0.02)
    shifted = polyad.zeros(40_000, dtype=polyad.complex128).normal_(1, 2)
    assert shifted.mean().item() == pytest.approx(1, abs=0.05)
    assert shifted.var().item() == pytest.approx(4, abs=0.15)
    uniform = polyad.rand_like(x)
    assert 0 <= uniform.imag.min().item() < uniform.imag.max().item() < 1
    assert polyad.randn_like(x).dtype is polyad.complex64
    assert polyad.randn(2, dtype=polyad.complex64, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    "make",
    [
        lambda: polyad.full((), 7),
        lambda: polyad.full(size=[], fill_value=7),
        lambda: polyad.randint(7, 8, ()),
        lambda: polyad.randint(8, size=[]),
        lambda: polyad.zeros(()),
        lambda: polyad.rand(()),
    ],
)
def test_a_size_without_dimensions_is_a_size(make) -> None:
    assert make().shape == ()
