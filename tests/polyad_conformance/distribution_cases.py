"""A distribution of each class, or several where a class takes its parameters in several ways.

A case makes its distribution from a package ``D`` and from ``t``, which makes a float64 tensor of nested lists: so the
conformance suite, the unit tests and the comparison with PyTorch use the same table. To add a distribution, add a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[[Any, Callable[[Any], Any]], Any]

MATRIX = [[2.0, 0.5], [0.5, 1.0]]
FACTOR = [[1.5, 0.0], [0.3, 0.8]]

CASES: dict[str, Make] = {
    "Bernoulli": lambda D, t: D.Bernoulli(t([0.2, 0.5, 0.9])),
    "Bernoulli by logits": lambda D, t: D.Bernoulli(logits=t([-1.0, 0.0, 2.5])),
    "Beta": lambda D, t: D.Beta(t([0.7, 2.0, 5.0]), t([1.5, 0.6, 3.0])),
    "Binomial": lambda D, t: D.Binomial(5, t([0.2, 0.5, 0.9])),
    "Binomial by logits": lambda D, t: D.Binomial(t([3.0, 40.0]), logits=t([-1.0, 0.5])),
    "Categorical": lambda D, t: D.Categorical(t([[0.1, 0.2, 0.7], [3.0, 1.0, 1.0]])),
    "Categorical by logits": lambda D, t: D.Categorical(logits=t([0.5, -1.0, 2.0])),
    "Cauchy": lambda D, t: D.Cauchy(t([0.5, -1.0]), t([1.0, 2.0])),
    "Chi2": lambda D, t: D.Chi2(t([0.8, 3.0])),
    "ContinuousBernoulli": lambda D, t: D.ContinuousBernoulli(t([0.2, 0.5, 0.9])),
    "ContinuousBernoulli by logits": lambda D, t: D.ContinuousBernoulli(logits=t([-1.5, 0.001, 2.0])),
    "Dirichlet": lambda D, t: D.Dirichlet(t([[0.5, 1.5, 3.0], [2.0, 2.0, 2.0]])),
    "Exponential": lambda D, t: D.Exponential(t([0.5, 2.0])),
    "FisherSnedecor": lambda D, t: D.FisherSnedecor(t([3.0, 5.0]), t([6.0, 9.0])),
    "Gamma": lambda D, t: D.Gamma(t([0.4, 1.0, 7.0]), t([1.0, 0.5, 3.0])),
    "GeneralizedPareto": lambda D, t: D.GeneralizedPareto(t([0.0, 1.0, -1.0]), t([1.0, 2.0, 0.5]), t([0.3, 0.0, -0.4])),
    "Geometric": lambda D, t: D.Geometric(t([0.3, 0.8])),
    "Geometric by logits": lambda D, t: D.Geometric(logits=t([-0.5, 1.0])),
    "Gumbel": lambda D, t: D.Gumbel(t([0.5, -1.0]), t([1.0, 2.0])),
    "HalfCauchy": lambda D, t: D.HalfCauchy(t([0.5, 2.0])),
    "HalfNormal": lambda D, t: D.HalfNormal(t([0.5, 2.0])),
    "Independent": lambda D, t: D.Independent(D.Normal(t([[0.5, -1.0], [0.0, 2.0]]), t([1.0, 2.0])), 1),
    "InverseGamma": lambda D, t: D.InverseGamma(t([2.5, 6.0]), t([1.0, 3.0])),
    "Kumaraswamy": lambda D, t: D.Kumaraswamy(t([0.7, 2.0]), t([1.5, 3.0])),
    "LKJCholesky": lambda D, t: D.LKJCholesky(3, t([0.5, 2.0])),
    "Laplace": lambda D, t: D.Laplace(t([0.5, -1.0]), t([1.0, 2.0])),
    "LogNormal": lambda D, t: D.LogNormal(t([0.5, -1.0]), t([0.3, 0.8])),
    "LogisticNormal": lambda D, t: D.LogisticNormal(t([0.5, -1.0]), t([1.0, 0.5])),
    "LowRankMultivariateNormal": lambda D, t: D.LowRankMultivariateNormal(
        t([0.5, -1.0, 0.0]), t([[1.0], [0.5], [-0.7]]), t([0.5, 1.0, 2.0])
    ),
    "MixtureSameFamily": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([0.3, 0.7])), D.Normal(t([-1.0, 2.0]), t([0.5, 1.0]))
    ),
    "MixtureSameFamily of vectors": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t([[0.3, 0.7], [0.5, 0.5]])),
        D.Independent(D.Normal(t([[[-1.0, 2.0], [0.0, 1.0]]] * 2), t([0.5, 1.0])), 1),
    ),
    "Multinomial": lambda D, t: D.Multinomial(7, t([[0.1, 0.2, 0.7], [0.4, 0.4, 0.2]])),
    "MultivariateNormal": lambda D, t: D.MultivariateNormal(t([0.5, -1.0]), t(MATRIX)),
    "MultivariateNormal by precision": lambda D, t: D.MultivariateNormal(
        t([[0.5, -1.0], [0.0, 0.0]]), precision_matrix=t(MATRIX)
    ),
    "MultivariateNormal by factor": lambda D, t: D.MultivariateNormal(
        t([0.5, -1.0]), scale_tril=t([FACTOR, [[1.0, 0.0], [0.0, 1.0]]])
    ),
    "NegativeBinomial": lambda D, t: D.NegativeBinomial(t([3.0, 8.5]), t([0.3, 0.6])),
    "NegativeBinomial by logits": lambda D, t: D.NegativeBinomial(4.0, logits=t([-0.5, 0.3])),
    "Normal": lambda D, t: D.Normal(t([0.5, -1.0]), t([1.0, 2.0])),
    "OneHotCategorical": lambda D, t: D.OneHotCategorical(t([[0.1, 0.2, 0.7], [3.0, 1.0, 1.0]])),
    "OneHotCategoricalStraightThrough": lambda D, t: D.OneHotCategoricalStraightThrough(logits=t([0.5, -1.0, 2.0])),
    "Pareto": lambda D, t: D.Pareto(t([1.0, 2.0]), t([4.5, 6.0])),
    "Poisson": lambda D, t: D.Poisson(t([0.5, 4.0, 30.0])),
    "RelaxedBernoulli": lambda D, t: D.RelaxedBernoulli(t(0.7), t([0.2, 0.9])),
    "RelaxedOneHotCategorical": lambda D, t: D.RelaxedOneHotCategorical(t(0.7), t([[0.1, 0.2, 0.7], [0.4, 0.4, 0.2]])),
    "StudentT": lambda D, t: D.StudentT(t([3.0, 9.0]), t([0.5, -1.0]), t([1.0, 2.0])),
    "TransformedDistribution": lambda D, t: D.TransformedDistribution(
        D.Normal(t([0.5, -1.0]), t([1.0, 2.0])),
        [D.AffineTransform(t([1.0, 2.0]), t([0.5, -0.5])), D.SigmoidTransform()],
    ),
    "Uniform": lambda D, t: D.Uniform(t([0.0, -1.0]), t([1.0, 3.0])),
    "VonMises": lambda D, t: D.VonMises(t([0.5, -1.0]), t([0.3, 4.0])),
    "Weibull": lambda D, t: D.Weibull(t([1.0, 2.0]), t([1.5, 3.0])),
    "Wishart": lambda D, t: D.Wishart(t([4.0, 6.5]), t(MATRIX)),
    "Wishart by factor": lambda D, t: D.Wishart(t(5.0), scale_tril=t(FACTOR)),
}
