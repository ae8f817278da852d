"""Invalid parameters and values are refused by name, and what they were given to stays as it was."""

from __future__ import annotations

import pytest

import polyad as torch
from polyad import distributions as D

ONE, NAN = torch.tensor(1.0), float("nan")
EYE = torch.eye(2)

INVALID = {
    "Bernoulli": ("probs", lambda: D.Bernoulli(torch.tensor([0.5, 1.5]))),
    "Beta": ("concentration0", lambda: D.Beta(1.0, torch.tensor([1.0, 0.0]))),
    "Binomial": ("total_count", lambda: D.Binomial(-1, torch.tensor(0.5))),
    "Binomial probs": ("probs", lambda: D.Binomial(3, torch.tensor(-0.5))),
    "Categorical": ("probs", lambda: D.Categorical(torch.tensor([-1.0, 2.0]))),
    "Categorical logits": ("logits", lambda: D.Categorical(logits=torch.tensor([0.0, NAN]))),
    "Cauchy": ("scale", lambda: D.Cauchy(0.0, -1.0)),
    "Chi2": ("df", lambda: D.Chi2(torch.tensor(0.0))),
    "ContinuousBernoulli": ("probs", lambda: D.ContinuousBernoulli(1.5)),
    "Dirichlet": ("concentration", lambda: D.Dirichlet(torch.tensor([1.0, -1.0]))),
    "Exponential": ("rate", lambda: D.Exponential(0.0)),
    "FisherSnedecor": ("df2", lambda: D.FisherSnedecor(1.0, -1.0)),
    "Gamma": ("rate", lambda: D.Gamma(1.0, -1.0)),
    "GeneralizedPareto": ("scale", lambda: D.GeneralizedPareto(0.0, 0.0, 0.1)),
    "Geometric": ("probs", lambda: D.Geometric(0.0)),
    "Gumbel": ("scale", lambda: D.Gumbel(0.0, -1.0)),
    "HalfCauchy": ("scale", lambda: D.HalfCauchy(-1.0)),
    "HalfNormal": ("scale", lambda: D.HalfNormal(-1.0)),
    "Independent": ("reinterpreted_batch_ndims", lambda: D.Independent(D.Normal(0.0, 1.0), 1)),
    "InverseGamma": ("concentration", lambda: D.InverseGamma(-1.0, 1.0)),
    "Kumaraswamy": ("concentration1", lambda: D.Kumaraswamy(-1.0, 1.0)),
    "LKJCholesky": ("concentration", lambda: D.LKJCholesky(3, -1.0)),
    "LKJCholesky dim": ("dim 1", lambda: D.LKJCholesky(1)),
    "Laplace": ("scale", lambda: D.Laplace(0.0, NAN)),
    "LogNormal": ("scale", lambda: D.LogNormal(0.0, -1.0)),
    "LogisticNormal": ("scale", lambda: D.LogisticNormal(torch.zeros(2), -ONE)),
    "LowRankMultivariateNormal": (
        "cov_diag",
        lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), -torch.ones(2)),
    ),
    "LowRankMultivariateNormal shapes": (
        "cov_factor",
        lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2)),
    ),
    "MixtureSameFamily": (
        "chooses among 2",
        lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0)),
    ),
    "MixtureSameFamily of what": (
        "mixture_distribution",
        lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(torch.zeros(3), 1.0)),
    ),
    "Multinomial": ("probs", lambda: D.Multinomial(3, torch.tensor([-1.0, 2.0]))),
    "MultivariateNormal": ("covariance_matrix", lambda: D.MultivariateNormal(torch.zeros(2), -EYE)),
    "MultivariateNormal twice": ("ways to say the same", lambda: D.MultivariateNormal(torch.zeros(2), EYE, EYE)),
    "MultivariateNormal scale_tril": ("scale_tril", lambda: D.MultivariateNormal(torch.zeros(2), scale_tril=EYE + 1)),
    "NegativeBinomial": ("probs", lambda: D.NegativeBinomial(1.0, ONE)),
    "Normal": ("scale", lambda: D.Normal(0.0, torch.tensor([1.0, 0.0]))),
    "Normal loc": ("loc", lambda: D.Normal(NAN, 1.0)),
    "OneHotCategorical": ("probs", lambda: D.OneHotCategorical(torch.tensor([-1.0, 2.0]))),
    "OneHotCategoricalStraightThrough": (
        "probs",
        lambda: D.OneHotCategoricalStraightThrough(torch.tensor([-1.0, 2.0])),
    ),
    "Pareto": ("alpha", lambda: D.Pareto(1.0, -1.0)),
    "Poisson": ("rate", lambda: D.Poisson(-1.0)),
    "RelaxedBernoulli": ("probs", lambda: D.RelaxedBernoulli(ONE, torch.tensor(2.0))),
    "RelaxedOneHotCategorical": ("probs", lambda: D.RelaxedOneHotCategorical(ONE, torch.tensor([-1.0, 2.0]))),
    "StudentT": ("df", lambda: D.StudentT(-1.0)),
    "TransformedDistribution": ("transforms", lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [torch.exp])),
    "Uniform": ("low", lambda: D.Uniform(1.0, 0.0)),
    "VonMises": ("concentration", lambda: D.VonMises(0.0, -1.0)),
    "Weibull": ("scale", lambda: D.Weibull(-1.0, 1.0)),
    "Wishart": ("df", lambda: D.Wishart(torch.tensor(0.5), EYE)),
    "Wishart twice": ("ways to say the same", lambda: D.Wishart(ONE * 3, EYE, EYE)),
    "both": ("ways to say the same", lambda: D.Bernoulli(0.5, 0.5)),
    "neither": ("ways to say the same", lambda: D.Categorical()),
    "no number": ("str", lambda: D.Normal("0", 1.0)),
    "PowerTransform": ("cache_size", lambda: D.ExpTransform(cache_size=2)),
    "ReshapeTransform": ("in_shape", lambda: D.ReshapeTransform((2,), (3,))),
    "CorrCholeskyTransform": ("2 numbers", lambda: D.CorrCholeskyTransform().forward_shape((2,))),
}
ABSTRACT = {"CumulativeDistributionTransform", "Distribution", "ExponentialFamily", "Transform"}


def test_every_class_has_an_invalid_call():
    classes = {name for name in D.__all__ if isinstance(getattr(D, name), type) and "Transform" not in name}
    assert classes - {name.split()[0] for name in INVALID} <= ABSTRACT


@pytest.mark.parametrize("name", INVALID)
def test_refused(name):
    named, call = INVALID[name]
    with pytest.raises(ValueError, match=named) as raised:
        call()
    message = str(raised.value)
    assert len(message.splitlines()[0]) < 250


def test_the_value_is_shown():
    with pytest.raises(ValueError, match="Normal") as raised:
        D.Normal(torch.zeros(2, 2), torch.tensor([[1.0, 2.0], [-3.0, 1.0]]))
    assert str(raised.value).splitlines() == [
        "Normal: parameter scale must satisfy GreaterThan(lower_bound=0.0)",
        "    scale  float32 (2, 2) on cpu",
        "    found  scale[1, 0] = -3.0",
        "    fix    pass a scale that does",
    ]


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Exponential(-1.0).rate.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="no bool"):
        D.Distribution.set_default_validate_args("yes")


@pytest.mark.parametrize(
    ("distribution", "value", "match"),
    [
        (lambda: D.Normal(0.0, 1.0), 0.0, "not a Tensor"),
        (lambda: D.Bernoulli(0.5), torch.tensor(0.5), r"value must satisfy Boolean\(\)"),
        (lambda: D.Categorical(torch.ones(3)), torch.tensor(3), "IntegerInterval"),
        (lambda: D.Dirichlet(torch.ones(3)), torch.ones(2) / 2, "does not end in event_shape"),
        (lambda: D.Normal(torch.zeros(3), 1.0), torch.zeros(2), "does not broadcast"),
        (lambda: D.Uniform(0.0, 1.0), torch.tensor(2.0), "Interval"),
        (lambda: D.Poisson(1.0), torch.tensor([1.0, -1.0]), r"found  value\[1\] = -1.0"),
    ],
)
def test_values_refused(distribution, value, match):
    with pytest.raises(ValueError, match=match):
        distribution().log_prob(value)


def test_what_is_not_implemented():
    for call in (
        lambda: D.Gamma(1.0, 1.0).icdf(ONE),
        lambda: D.Poisson(1.0).entropy(),
        lambda: D.Poisson(1.0).rsample(),
        lambda: D.Multinomial(torch.tensor(3), torch.ones(2)),
        lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)),
        lambda: D.Independent(D.Bernoulli(torch.ones(2) / 2), 1).enumerate_support(),
        lambda: D.Binomial(torch.tensor([1.0, 2.0]), torch.tensor(0.5)).entropy(),
        lambda: D.biject_to(D.constraints.one_hot),
    ):
        with pytest.raises(NotImplementedError):
            call()


def test_a_subclass_with_an_init_must_expand():
    class Mine(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="must define expand"):
        Mine(0.0).expand((2,))


def test_register_kl_takes_classes():
    with pytest.raises(TypeError, match="type_p"):
        D.register_kl(D.Normal(0.0, 1.0), D.Normal)


def test_ambiguous_divergences_warn(monkeypatch):
    class First(D.Normal):
        pass

    class Second(First):
        pass

    monkeypatch.setattr(D.kl, "_KL_REGISTRY", dict(D.kl._KL_REGISTRY))
    monkeypatch.setattr(D.kl, "_found", {})
    D.register_kl(First, Second)(lambda p, q: "by q")
    D.register_kl(Second, First)(lambda p, q: "by p")
    with pytest.warns(RuntimeWarning, match="ambiguous"):
        assert D.kl_divergence(Second(0.0, 1.0), Second(0.0, 1.0)) == "by p"


def test_gamma_samples_are_differentiated_once():
    a = torch.tensor(2.0, requires_grad=True)
    (slope,) = torch.autograd.grad(D.Gamma(a, 1.0).rsample(), [a], create_graph=True)
    with pytest.raises(NotImplementedError, match="no derivative"):
        torch.autograd.grad(slope, [a])
