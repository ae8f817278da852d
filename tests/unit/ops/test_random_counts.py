"""Distributions of drawn counts and of the in-place forms, against SciPy's distribution functions."""

import numpy as np
import pytest
from scipy import stats

import polyad

DRAWS = 20_000
UNLIKELY = 1e-4
"""The seeds are fixed, so a test that passes keeps passing; the bound says how far off the numbers may be."""


def smoothed(counts, distribution, seed=0):
    """A p-value of counts: each spread evenly over its step, they are uniform under the distribution function."""
    below = distribution.cdf(counts - 1)
    u = below + np.random.default_rng(seed).random(counts.size) * (distribution.cdf(counts) - below)
    return stats.kstest(u, "uniform").pvalue


def full(value):
    return polyad.full((DRAWS,), float(value), dtype=polyad.float64)


@pytest.fixture(autouse=True)
def _seeded():
    with polyad.random.fork_rng():
        polyad.manual_seed(11)
        yield


@pytest.mark.parametrize("mean", [0.2, 3, 9.99, 10, 60, 5000])
def test_poisson(mean) -> None:
    assert smoothed(polyad.poisson(full(mean)).numpy(), stats.poisson(mean)) > UNLIKELY


@pytest.mark.parametrize(("n", "p"), [(5, 0.5), (30, 0.1), (2000, 0.004), (40, 0.25), (100, 0.97), (10_000, 0.6)])
def test_binomial(n, p) -> None:
    assert smoothed(polyad.binomial(full(n), full(p)).numpy(), stats.binom(n, p)) > UNLIKELY


@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64, polyad.int64])
def test_geometric(p, dtype) -> None:
    drawn = polyad.zeros(DRAWS, dtype=dtype).geometric_(p)
    assert drawn.dtype is dtype
    assert smoothed(drawn.double().numpy(), stats.geom(p)) > UNLIKELY


def test_cauchy_and_log_normal() -> None:
    cauchy = polyad.zeros(DRAWS, dtype=polyad.float64).cauchy_(1.0, 2.0).numpy()
    assert stats.kstest(cauchy, stats.cauchy(1, 2).cdf).pvalue > UNLIKELY
    log_normal = polyad.zeros(DRAWS).log_normal_(0.5, 0.25).numpy()
    assert stats.kstest(np.log(log_normal), stats.norm(0.5, 0.25).cdf).pvalue > UNLIKELY


def test_small_and_large_means_side_by_side_do_not_disturb_each_other() -> None:
    mixed = polyad.tensor([2.0, 100.0] * (DRAWS // 2), dtype=polyad.float64)
    drawn = polyad.poisson(mixed).numpy()
    assert smoothed(drawn[::2], stats.poisson(2)) > UNLIKELY
    assert smoothed(drawn[1::2], stats.poisson(100)) > UNLIKELY


def test_the_same_seed_draws_the_same_counts() -> None:
    def draw():
        source = polyad.Generator().manual_seed(3)
        return polyad.poisson(full(20), source), polyad.binomial(full(50), full(0.5), source)

    assert all(polyad.equal(one, other) for one, other in zip(draw(), draw(), strict=True))
    first, second = polyad.poisson(full(20)), polyad.poisson(full(20))
    assert not polyad.equal(first, second)


def test_gradients_of_counts_are_zero() -> None:
    rate = polyad.tensor([3.0, 30.0], requires_grad=True)
    polyad.poisson(rate).sum().backward()
    assert rate.grad.tolist() == [0, 0]
    p = polyad.tensor([0.5], requires_grad=True)
    polyad.binomial(polyad.tensor([9.0]), p).sum().backward()
    assert p.grad.tolist() == [0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: polyad.zeros(2).cauchy_(0, 0), "sigma 0 must be above 0"),
        (lambda: polyad.zeros(2, dtype=polyad.int64).cauchy_(), "int64 cannot hold"),
        (lambda: polyad.zeros(2).log_normal_(0, -1), "std -1 must be above 0"),
        (lambda: polyad.zeros(2).geometric_(1.0), r"p 1\.0 is not in \(0, 1\)"),
        (lambda: polyad.zeros(2, dtype=polyad.bool).geometric_(0.5), "bool cannot hold counts"),
        (lambda: polyad.poisson(polyad.tensor([float("nan")])), "means must be 0 or more"),
        (lambda: polyad.poisson(polyad.tensor([1])), "int64 cannot hold"),
        (lambda: polyad.binomial(polyad.tensor([-1.0]), polyad.tensor([0.5])), "counts must be 0 or more"),
    ],
)
def test_what_is_refused(call, says) -> None:
    with pytest.raises(RuntimeError, match=says):
        call()
