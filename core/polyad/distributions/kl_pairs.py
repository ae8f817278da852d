"""The formulas of `kl_divergence`.

Between two distributions of one family they are closed forms. Between two families the divergence is the cross
entropy, ``-E[log q(x)]`` under p, less the entropy of p; the cross entropy needs p's mean and variance, or one of the
expectations that `_expected_log` and `_expected_falling` know. To add a pair, add p to q in `_CROSS`, with its
expectations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import functions as F, linalg
from ..errors import ArgumentError, NotSupported
from ..ops.nn.activation.smooth import softplus
from ..ops.reductions.any_all import anywhere
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost

# --------------------------------------------------------------------------------------------------- one family


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    happening = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    failing = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    happening = F.where(p.probs == 0, 0.0, F.where(q.probs == 0, math.inf, happening))
    failing = F.where(p.probs == 1, 0.0, F.where(q.probs == 1, math.inf, failing))
    return happening + failing


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if anywhere(p.total_count < q.total_count):
        raise NotSupported(
            "kl_divergence: no formula for Binomials of which q has more trials than p",
            operands={"p.total_count": p.total_count, "q.total_count": q.total_count},
            fix="estimate it from samples: (p.log_prob(x) - q.log_prob(x)).mean(0)",
        )
    divergence = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return F.where(p.total_count > q.total_count, math.inf, divergence)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return F.where(p.probs == 0, 0.0, F.where(q.probs == 0, math.inf, terms)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    normalizers = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    slopes = (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + slopes


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (
        distance - ratio.log() + ratio * euler_constant + ((1 + ratio).lgamma() - distance).exp() - (1 + euler_constant)
    )


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale - ratio.log() + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    # F. Chyzak and F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy
    # distributions", 2019
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return F.where(p.scale < q.scale, math.inf, divergence)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotSupported(
            f"kl_divergence: no formula for p {type(p).__name__} and q {type(q).__name__}: they are different "
            "exponential families",
            fix="add one with register_kl",
        )
    params, normalizer, slopes = p._normalizer_with_slopes()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for param, other, slope in zip(params, others, slopes, strict=True):
        term = (other - param) * slope
        result = result - sum_rightmost(term, term.ndim - result.ndim)
    return result


@register_kl(Independent, Independent)
def _independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotSupported(
            f"kl_divergence: p has {p.reinterpreted_batch_ndims} reinterpreted_batch_ndims, q has "
            f"{q.reinterpreted_batch_ndims}",
            fix="make their events the same",
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotSupported(
            "kl_divergence: no formula for p and q of different transforms or events",
            fix="add one with register_kl",
        )
    return kl_divergence(p.base_dist, q.base_dist)


# ---------------------------------------------------------------------------------------------- normal vectors


def _same_events(p: Any, q: Any) -> int:
    if p.event_shape != q.event_shape:
        raise ArgumentError(
            f"kl_divergence: events of p {tuple(p.event_shape)} and q {tuple(q.event_shape)} differ",
            fix="pass distributions of vectors of one length",
        )
    return p.event_shape[0]


def _squares(matrix: Tensor) -> Tensor:
    """The trace of ``A A^T``."""
    return matrix.pow(2).sum((-2, -1))


def _whitened(q: MultivariateNormal, matrix: Tensor) -> Tensor:
    solved: Tensor = linalg.solve_triangular(q._unbroadcasted_scale_tril, matrix, upper=False)
    return _squares(solved)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = _same_events(p, q)
    of_p, of_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    spread = _whitened(q, of_p) + mahalanobis(of_q, q.loc - p.loc)
    return half_log_det(of_q) - half_log_det(of_p) + 0.5 * (spread - n)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_full(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = _same_events(p, q)
    of_q = q._unbroadcasted_scale_tril
    diagonal = p._unbroadcasted_cov_diag.sqrt().diag_embed()
    spread = _whitened(q, p._unbroadcasted_cov_factor) + _whitened(q, diagonal)
    return 0.5 * (2 * half_log_det(of_q) - p._log_det() + mahalanobis(of_q, q.loc - p.loc) + spread - n)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_to_low_rank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    n = _same_events(p, q)
    of_p = p._unbroadcasted_scale_tril
    spread = _squares(of_p * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _squares(q._whitener() @ of_p)
    return 0.5 * (q._log_det() - 2 * half_log_det(of_p) + q._mahalanobis(q.loc - p.loc) + spread - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    n = _same_events(p, q)
    whitener, factor, diagonal = q._whitener(), p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    scale = q._unbroadcasted_cov_diag
    of_factor = _squares(factor * scale.rsqrt().unsqueeze(-1)) - _squares(whitener @ factor)
    of_diagonal = (diagonal / scale).sum(-1) - _squares(whitener * diagonal.sqrt().unsqueeze(-2))
    return 0.5 * (q._log_det() - p._log_det() + q._mahalanobis(q.loc - p.loc) + of_factor + of_diagonal - n)


# ------------------------------------------------------------------------------------------------- two families


def _expected_log(p: Any) -> Tensor:
    """The mean of log(x)."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    assert isinstance(p, Uniform)
    width = p.high - p.low
    return (F.xlogy(p.high, p.high) - F.xlogy(p.low, p.low)) / width - 1


def _expected_falling(p: Any, scale: Tensor) -> Tensor:
    """The mean of exp(-x / scale)."""
    if isinstance(p, Exponential):
        return p.rate * scale / (p.rate * scale + 1)
    if isinstance(p, Gamma):
        return (1 + 1 / (p.rate * scale)).pow(-p.concentration)
    if isinstance(p, Normal):
        return (0.5 * (p.scale / scale).pow(2) - p.loc / scale).exp()
    assert isinstance(p, Uniform)
    return scale * ((-p.low / scale).exp() - (-p.high / scale).exp()) / (p.high - p.low)


def _of_normal(p: Any, q: Normal) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return q.scale.log() + 0.5 * (spread + math.log(2 * math.pi))


def _of_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log()


def _of_gamma(p: Any, q: Gamma) -> Tensor:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * _expected_log(p) + q.rate * p.mean


def _of_gumbel(p: Any, q: Gumbel) -> Tensor:
    tail = (q.loc / q.scale).exp() * _expected_falling(p, q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + tail


def _of_uniform(p: Any, q: Uniform) -> Tensor:
    return (q.high - q.low).log()


def _of_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return -(p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm())


def _of_pareto(p: Any, q: Pareto) -> Tensor:
    return (q.alpha + 1) * _expected_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _of_beta(p: Uniform, q: Beta) -> Tensor:
    a, b, reflected = q.concentration1, q.concentration0, Uniform(1 - p.high, 1 - p.low, validate_args=False)
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return log_beta - (a - 1) * _expected_log(p) - (b - 1) * _expected_log(reflected)


def _of_laplace(p: Normal, q: Laplace) -> Tensor:
    distance = p.loc - q.loc
    z = distance / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + distance * F.erf(z * math.sqrt(0.5))
    return (2 * q.scale).log() + mean / q.scale


def _of_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.probs * q.rate.log()


_CROSS: dict[type, tuple[Callable[[Any, Any], Tensor], tuple[type, ...]]] = {
    Normal: (_of_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    Exponential: (_of_exponential, (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)),
    Gamma: (_of_gamma, (Beta, Exponential, Pareto, Uniform)),
    Gumbel: (_of_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Uniform: (_of_uniform, (Beta, ContinuousBernoulli, Uniform)),
    ContinuousBernoulli: (_of_continuous_bernoulli, (Beta, ContinuousBernoulli, Uniform)),
    Pareto: (_of_pareto, (Uniform,)),
    Beta: (_of_beta, (Uniform,)),
    Laplace: (_of_laplace, (Normal,)),
    Poisson: (_of_poisson, (Bernoulli,)),
}
"""For each q the cross entropy, and the p for which it is known."""

_BEYOND: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
"""For each p the q that give no probability to where p has some: the divergence is infinite."""

_INSIDE = (Uniform, Beta, ContinuousBernoulli, Pareto, Exponential, Gamma)
"""Distributions that are nowhere below a bound, or above one: with a p of bounds, these are compared."""


def _bounds(of: Any) -> tuple[Any, Any]:
    if isinstance(of, Uniform):
        return of.low, of.high
    return (
        (of.scale, math.inf)
        if isinstance(of, Pareto)
        else (0.0, math.inf if isinstance(of, Exponential | Gamma) else 1.0)
    )


def _crossing(cross_entropy: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    def divergence(p: Any, q: Any) -> Tensor:
        result = cross_entropy(p, q) - p.entropy()
        if isinstance(p, _INSIDE) and isinstance(q, _INSIDE):
            (low, high), (q_low, q_high) = _bounds(p), _bounds(q)
            outside: Any = (low < q_low) | (high > q_high)
            if isinstance(outside, Tensor):
                result = F.where(outside, math.inf, result)
        return result

    return divergence


def _infinite(p: Any, q: Any) -> Tensor:
    shape = F.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    mean: Tensor = p.mean
    return F.full(shape, math.inf, dtype=mean.dtype, device=mean.device)


for _q, (_cross_entropy, _ps) in _CROSS.items():
    for _p in _ps:
        register_kl(_p, _q)(_crossing(_cross_entropy))
for _p, _qs in _BEYOND.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)
