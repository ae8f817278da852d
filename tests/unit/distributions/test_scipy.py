"""Densities, distribution functions, quantiles, entropies and moments against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import polyad as torch
from polyad import distributions as D

A, B = np.array([0.7, 1.0, 4.0]), np.array([0.5, 2.0, 3.0])
P = np.array([0.1, 0.5, 0.8])
X = np.linspace(-3, 5, 17)[:, None]
POSITIVE = np.linspace(0.05, 6, 17)[:, None]
UNIT = np.linspace(0.02, 0.98, 17)[:, None]
COUNTS = np.arange(6.0)[:, None]

CASES = {
    "Beta": (D.Beta, (A, B), stats.beta(A, B), UNIT),
    "Cauchy": (D.Cauchy, (A, B), stats.cauchy(A, B), X),
    "Chi2": (D.Chi2, (A,), stats.chi2(A), POSITIVE),
    "Exponential": (D.Exponential, (A,), stats.expon(scale=1 / A), POSITIVE),
    "FisherSnedecor": (D.FisherSnedecor, (A, B * 12), stats.f(A, B * 12), POSITIVE),
    "Gamma": (D.Gamma, (A, B), stats.gamma(A, scale=1 / B), POSITIVE),
    "GeneralizedPareto": (D.GeneralizedPareto, (A * 0, B, A / 10), stats.genpareto(A / 10, scale=B), POSITIVE),
    "Gumbel": (D.Gumbel, (A, B), stats.gumbel_r(A, B), X),
    "HalfCauchy": (D.HalfCauchy, (A,), stats.halfcauchy(scale=A), POSITIVE),
    "HalfNormal": (D.HalfNormal, (A,), stats.halfnorm(scale=A), POSITIVE),
    "InverseGamma": (D.InverseGamma, (A + 2, B), stats.invgamma(A + 2, scale=B), POSITIVE),
    "Laplace": (D.Laplace, (A, B), stats.laplace(A, B), X),
    "LogNormal": (D.LogNormal, (A, B), stats.lognorm(B, scale=np.exp(A)), POSITIVE),
    "Normal": (D.Normal, (A, B), stats.norm(A, B), X),
    "Pareto": (D.Pareto, (A, B + 2), stats.pareto(B + 2, scale=A), POSITIVE + 4),
    "StudentT": (D.StudentT, (A + 2, B, A), stats.t(A + 2, B, A), X),
    "Uniform": (D.Uniform, (A, A + B), stats.uniform(A, B), A + UNIT * B),
    "VonMises": (D.VonMises, (A, B), stats.vonmises(B, A), X / 2),
    "Weibull": (D.Weibull, (A, B), stats.weibull_min(B, scale=A), POSITIVE),
    "Bernoulli": (D.Bernoulli, (P,), stats.bernoulli(P), COUNTS[:2]),
    "Binomial": (D.Binomial, (7 + 0 * P, P), stats.binom(7, P), COUNTS),
    "Geometric": (D.Geometric, (P,), stats.geom(P, -1), COUNTS),
    "NegativeBinomial": (D.NegativeBinomial, (A, P), stats.nbinom(A, 1 - P), COUNTS),
    "Poisson": (D.Poisson, (A,), stats.poisson(A), COUNTS),
}
CIRCULAR = {"VonMises": ("mean", "variance", "cdf")}
INFINITE = {"Cauchy"}


def close(ours, theirs):
    np.testing.assert_allclose(np.broadcast_to(ours.numpy(), np.shape(theirs)), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    kind, parameters, theirs, values = CASES[name]
    ours = kind(*(torch.tensor(p) for p in parameters))
    density = theirs.logpmf if hasattr(theirs.dist, "pmf") else theirs.logpdf
    x = np.broadcast_to(values, (len(values), 3)).copy()
    close(ours.log_prob(torch.tensor(x)), density(x))
    compared = 1
    for method, wanted in (("entropy", theirs.entropy), ("mean", theirs.mean), ("variance", theirs.var)):
        if method in CIRCULAR.get(name, ()) or (name in INFINITE and method != "entropy"):
            continue
        try:
            found = getattr(ours, method)
            found = found() if callable(found) else found
        except NotImplementedError:
            continue
        close(found, wanted())
        compared += 1
    for method, wanted, at in (
        ("cdf", theirs.cdf, x),
        ("icdf", theirs.ppf, np.broadcast_to(UNIT, (17, 3)).copy()),
    ):
        if method in CIRCULAR.get(name, ()):
            continue
        try:
            found = getattr(ours, method)(torch.tensor(at))
        except NotImplementedError:
            continue
        close(found, wanted(at))
        compared += 1
    assert compared > (name not in CIRCULAR)


def test_vectors_against_scipy():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    x = np.array([[0.0, 0.0], [1.0, -2.0]])
    ours = D.MultivariateNormal(torch.tensor([1.0, 0.0], dtype=torch.float64), torch.tensor(covariance))
    close(ours.log_prob(torch.tensor(x)), stats.multivariate_normal([1, 0], covariance).logpdf(x))
    close(ours.entropy(), stats.multivariate_normal([1, 0], covariance).entropy())
    ours = D.Wishart(torch.tensor(4.5).double(), torch.tensor(covariance))
    matrix = np.array([[3.0, 0.2], [0.2, 1.5]])
    close(ours.log_prob(torch.tensor(matrix)), stats.wishart(4.5, covariance).logpdf(matrix))
    close(ours.entropy(), stats.wishart(4.5, covariance).entropy())
    a = np.array([0.5, 2.0, 3.0])
    ours = D.Dirichlet(torch.tensor(a))
    close(ours.log_prob(torch.tensor(np.array([0.2, 0.3, 0.5]))), stats.dirichlet(a).logpdf(np.array([0.2, 0.3, 0.5])))
    close(ours.entropy(), stats.dirichlet(a).entropy())
    ours = D.Multinomial(6, torch.tensor(P / P.sum()))
    close(ours.log_prob(torch.tensor([1.0, 3.0, 2.0]).double()), stats.multinomial(6, P / P.sum()).logpmf([1, 3, 2]))
    close(ours.entropy(), stats.multinomial(6, P / P.sum()).entropy())


def test_slope_of_gamma_samples():
    """Each sample's derivative is that of SciPy's quantile at a fixed probability."""
    torch.manual_seed(0)
    for shape in (0.1, 0.9, 2.5, 80.0):
        a = torch.full((50,), shape, dtype=torch.float64, requires_grad=True)
        x = D.Gamma(a, 1.0).rsample()
        (found,) = torch.autograd.grad(x.sum(), [a])
        drawn, h = x.detach().numpy(), 1e-5 * shape
        level, rest = stats.gamma(shape).cdf(drawn), stats.gamma(shape).sf(drawn)

        def at(parameter, level=level, rest=rest):
            gamma = stats.gamma(parameter)
            return np.where(level < 0.5, gamma.ppf(level), gamma.isf(rest))

        np.testing.assert_allclose(found.numpy(), (at(shape + h) - at(shape - h)) / (2 * h), rtol=1e-5, atol=1e-300)


@pytest.mark.parametrize(("concentration", "upper"), [(0.0, np.inf), (1e-12, np.inf), (0.3, np.inf), (-0.5, 4.0)])
def test_the_quantile_of_1_is_the_end_of_the_generalized_pareto(concentration, upper):
    pareto = D.GeneralizedPareto(torch.tensor(0.0, dtype=torch.float64), 2.0, concentration)

    assert pareto.icdf(torch.tensor(1.0, dtype=torch.float64)).item() == upper


@pytest.mark.parametrize("far", [1e10, 1e200, np.inf])
@pytest.mark.parametrize("concentration", [0.0, 1e-12, 9e-9])
def test_the_far_tail_of_the_generalized_pareto(concentration, far):
    pareto = D.GeneralizedPareto(torch.tensor(0.0, dtype=torch.float64), 2.0, concentration)
    value = torch.tensor(far, dtype=torch.float64)

    assert pareto.cdf(value).item() == 1.0
    assert pareto.log_prob(value).item() < -1e6
