"""Samples have the moments that distributions say, and gradients of the means; divergences are those of samples."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import polyad as torch
from polyad import distributions as D
from polyad_conformance.distribution_cases import CASES

COUNT = 4000
DEVIATIONS = 6
"""What is checked is wrong by chance for one of 10 ** 9 numbers, and the seeds are fixed."""


def t(value):
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("name", CASES)
def test_moments(name):
    distribution = CASES[name](D, t)
    torch.manual_seed(1)
    samples = distribution.sample((COUNT,)).double().numpy()
    try:
        mean, variance = distribution.mean.numpy(), distribution.variance.numpy()
    except NotImplementedError:
        assert name.split()[0] in ("LKJCholesky", "LogisticNormal", "TransformedDistribution") or "Relaxed" in name
        return
    if name == "VonMises":
        angle = samples - mean
        samples, mean, variance = np.cos(angle), 1 - variance, np.full_like(mean, np.nan)
    finite = np.isfinite(variance) | (name == "VonMises")
    spread = samples.std(0) / np.sqrt(COUNT)
    assert np.all(np.abs(samples.mean(0) - mean) <= DEVIATIONS * spread + 1e-12, where=finite & np.isfinite(mean))
    squares = (samples - mean) ** 2
    spread = squares.std(0) / np.sqrt(COUNT)
    assert np.all(np.abs(squares.mean(0) - variance) <= DEVIATIONS * spread + 1e-12, where=np.isfinite(variance))


@pytest.mark.parametrize("name", [name for name, make in CASES.items() if make(D, t).has_rsample])
def test_gradients_of_means(name):
    """The mean of the samples' gradients is the gradient of the mean."""
    leaves = []

    def parameter(value):
        leaves.append(t(value).requires_grad_())
        return leaves[-1]

    distribution = CASES[name](D, parameter)
    try:
        wanted = torch.autograd.grad(
            distribution.mean.nan_to_num(0, 0, 0).sum(), leaves, allow_unused=True, retain_graph=True
        )
    except (NotImplementedError, RuntimeError):
        wanted = None
    parts = []
    torch.manual_seed(2)
    for _ in range(20):
        samples = distribution.rsample((COUNT // 20,))
        parts.append(torch.autograd.grad(samples.mean(0).sum(), leaves, allow_unused=True, retain_graph=True))
    assert any(part is not None for part in parts[0])
    for place in range(len(leaves)):
        found = [part[place] for part in parts]
        if found[0] is None:
            continue
        found = np.stack([one.numpy() for one in found])
        assert np.isfinite(found).all()
        if wanted is None or wanted[place] is None or name in ("Cauchy", "HalfCauchy"):
            continue
        spread = found.std(0, ddof=1) / np.sqrt(20)
        assert np.all(np.abs(found.mean(0) - wanted[place].numpy()) <= DEVIATIONS * spread + 1e-9)


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Gumbel", "Weibull", "Pareto", "Kumaraswamy", "Uniform"])
def test_gradients_are_slopes(name):
    """Samples of one seed follow a change of the parameters as their gradient says."""

    def drawn(step, place):
        leaves = []

        def parameter(value):
            leaves.append((t(value) + (step if place == len(leaves) else 0)).requires_grad_())
            return leaves[-1]

        distribution = CASES[name](D, parameter)
        torch.manual_seed(3)
        return distribution.rsample((5,)), leaves

    for place in range(2):
        samples, leaves = drawn(0.0, place)
        (gradient,) = torch.autograd.grad(samples.sum(), [leaves[place]])
        high, low = drawn(1e-6, place)[0].sum(0), drawn(-1e-6, place)[0].sum(0)
        np.testing.assert_allclose(gradient.numpy(), ((high - low) / 2e-6).detach().numpy(), rtol=1e-6, atol=1e-8)


def of_two(value):
    return t(value[:2] if isinstance(value, list) else value)


def test_divergences():
    """Every pair that has a formula, but those that are infinite; and a divergence from itself is 0."""
    families = [name for name in CASES if " " not in name]
    known = 0
    for name, other in itertools.product(families, families):
        p, q = CASES[name](D, of_two), CASES[other](D, of_two)
        if p.batch_shape != q.batch_shape or p.event_shape != q.event_shape:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                divergence = D.kl_divergence(p, q).numpy()
        except NotImplementedError:
            continue
        if name == other:
            assert np.all(np.abs(divergence) < 1e-9), name
        finite = np.isfinite(divergence)
        if not finite.any():
            continue
        known += 1
        torch.manual_seed(4)
        x = p.sample((COUNT,))
        q._validate_args = False
        terms = (p.log_prob(x) - q.log_prob(x)).numpy()
        spread = terms.std(0) / np.sqrt(COUNT)
        wrong = np.abs(terms.mean(0) - divergence) > DEVIATIONS * spread + 1e-9
        assert not wrong[finite].any(), f"{name}, {other}: {divergence} is {terms.mean(0)} of samples"
    assert known > 55


def test_small_concentrations_underflow_nowhere():
    """Of tiny concentrations a Dirichlet sample is nearly a single 1, not what two zeros say of each other."""
    torch.manual_seed(0)
    samples = D.Dirichlet(torch.full((4,), 1e-3)).sample((1000,))
    assert torch.isfinite(samples).all()
    assert (samples.max(-1).values > 0.99).float().mean() > 0.95
    beta = D.Beta(1e-3, 1e-3).sample((1000,))
    assert ((beta < 1e-6) | (beta > 1 - 1e-6)).float().mean() > 0.97


def test_extreme_parameters_end():
    """Rejection ends for parameters whose proposals are never accepted."""
    assert D.Gamma(torch.tensor([float("inf"), 1.0]), 1.0).sample().isinf().tolist() == [True, False]
    assert D.VonMises(torch.tensor(0.0), torch.tensor(1e20)).sample().abs() < 1e-8
    assert D.Gamma(torch.tensor(float("nan")), 1.0, validate_args=False).sample().shape == ()


def test_sample_has_no_history():
    loc = torch.zeros(3, requires_grad=True)
    normal = D.Normal(loc, 1.0)
    assert not normal.sample().requires_grad
    assert normal.rsample().requires_grad


def test_seed_decides():
    for name, make in CASES.items():
        torch.manual_seed(5)
        first = make(D, t).sample((3,))
        torch.manual_seed(5)
        assert torch.equal(first, make(D, t).sample((3,))), name


def test_no_samples():
    for name, make in CASES.items():
        distribution = make(D, t)
        assert distribution.sample((0,)).shape == (0, *distribution.batch_shape, *distribution.event_shape), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shares_lie_between_nothing_and_all(dtype):
    concentration = torch.tensor(0.01, dtype=dtype)
    for drawn in (D.Beta(concentration, concentration), D.Dirichlet(concentration.expand(3))):
        shares = drawn.sample((200,))
        assert ((shares > 0) & (shares < 1)).all()
        assert drawn.log_prob(shares).isfinite().all()


def test_the_gradient_of_binomial_counts_at_even_odds():
    odds = torch.zeros((), requires_grad=True)
    D.Binomial(3, logits=odds).log_prob(torch.tensor(1.0)).backward()
    assert odds.grad.item() == pytest.approx(1 - 3 / 2)
