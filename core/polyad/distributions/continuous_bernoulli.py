"""The continuous Bernoulli distribution, over [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F
from ..ops.nn.losses.binary import binary_cross_entropy_with_logits
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .odds import BINARY, Odds, one_given
from .utils import Number, broadcast_all, clamp_probs, lazy_property, logits_to_probs, standard_uniform

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers in [0, 1] of a density proportional to ``probs**x (1 - probs)**(1 - x)`` (G. Loaiza-Ganem and
    J. P. Cunningham, "The continuous Bernoulli", NeurIPS 2019); or by log odds *logits*.

    Between the bounds *lims*, where the formulas are differences of nearly equal numbers, series about probs = 0.5 are
    used. Raises ValueError unless one of probs and logits is given, and for probabilities outside [0, 1].

    >>> import polyad as torch
    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = BINARY
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        one_given("ContinuousBernoulli", probs, logits)
        self._lims = lims
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args or (validate_args is None and self._validate_args):
                self._check("probs", probs, constraints.unit_interval, "parameter")
            probs = clamp_probs(probs)
        self._parametrize_odds(validate_args, probs, logits)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> tuple[Tensor, Tensor]:
        """Where the formulas hold, and probabilities at which they do everywhere."""
        stable = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return stable, F.where(stable, self.probs, self._lims[0])

    def _cont_bern_log_norm(self) -> Tensor:
        stable, p = self._stable()
        below = p <= 0.5
        gap = F.where(below, (-2 * F.where(below, p, 0.0)).log1p(), (2 * F.where(below, 1.0, p) - 1).log())
        norm = ((-p).log1p() - p.log()).abs().log() - gap
        x = (self.probs - 0.5).pow(2)
        return F.where(stable, norm, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        stable, p = self._stable()
        x = self.probs - 0.5
        mean = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return F.where(stable, mean, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        stable, p = self._stable()
        x = (self.probs - 0.5).pow(2)
        variance = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)
        return F.where(stable, variance, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.rsample(sample_shape).detach()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        stable, p = self._stable()
        inside = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        z, zx = self.logits, self.logits * value
        near = value * (1 + zx / 2 + zx.pow(2) / 6) / (1 + z / 2 + z.pow(2) / 6)
        return F.where(stable, inside, near).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        stable, p = self._stable()
        failing = (-p).log1p()
        inside = ((-p + value * (2 * p - 1)).log1p() - failing) / (p.log() - failing)
        z, spread = self.logits, value * (1 - value)
        near = value + z * spread * (0.5 + z * (1 - 2 * value) / 6)
        return F.where(stable, inside, near)

    def entropy(self) -> Tensor:
        failing = (-self.probs).log1p()
        return self.mean * (failing - self.probs.log()) - self._cont_bern_log_norm() - failing

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        far = F.where(stable, x, self._lims[0] - 0.5)
        return F.where(stable, far.expm1().abs().log() - far.abs().log(), 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880)
