"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F, special
from ..base.dtypes import finfo, float64
from ..ops.random.gamma import _log_gamma
from ..random.generator import generator_or_default
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


def log_gamma_sample(concentration: Tensor) -> Tensor:
    """Logarithms, in float64, of samples of rate 1; differentiable with respect to *concentration*."""
    drawn: Tensor = _log_gamma(concentration.to(float64), generator_or_default("rsample", None))
    return drawn


class Gamma(ExponentialFamily):
    """Gamma distributed numbers of shape parameter *concentration* and *rate* (both above 0).

    Raises ValueError for others. The gradient of `rsample` is that at a fixed probability.

    >>> import polyad as torch
    >>> torch.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = log_gamma_sample(self.concentration.expand(shape)) - self.rate.to(float64).log()
        dtype = self.rate.dtype
        return drawn.exp().to(dtype).clamp(min=finfo(dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = F.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            F.xlogy(self.concentration, self.rate)
            + F.xlogy(self.concentration - 1, value)
            - self.rate * value
            - F.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        probability: Tensor = special.gammainc(self.concentration, self.rate * value)
        return probability

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return F.lgamma(x + 1) - (x + 1) * F.log(-y)
