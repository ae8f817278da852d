"""The generalized Pareto distribution: by how much a threshold is exceeded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functions as F
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution
from .utils import standard_uniform

__all__ = ["GeneralizedPareto"]

# Where a correction of the exponential tail stops growing: 0 * infinity is NaN, and beyond, the correction of the
# largest concentration that counts as 0 would outgrow what it corrects.
FAR = 1e7


class GeneralizedPareto(Distribution):
    """Numbers from *loc* on, of *scale* (above 0), whose tail is the heavier, the larger *concentration* is: with a
    negative one they are bounded, at 0 they are exponentially distributed.

    Raises ValueError for other scales.

    >>> import polyad as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._parametrize(validate_args, loc=loc, scale=scale, concentration=concentration)

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        bounded = self.concentration < 0
        upper = self.loc - self.scale / F.where(bounded, self.concentration, -1.0)
        return constraints.interval(self.loc, F.where(bounded, upper, math.inf))

    def _tail(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, nearly, and two terms of a series in it are exact; and one that is not."""
        zero = F.isclose(self.concentration, F.zeros_like(self.concentration))
        return zero, F.where(zero, 1.0, self.concentration)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        mean = self.loc + self.scale / (1 - F.where(valid, self.concentration, 0.5))
        return F.where(valid, mean, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        c = F.where(valid, self.concentration, 0.25)
        return F.where(valid, self.scale.pow(2) / ((1 - c).pow(2) * (1 - 2 * c)), math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, c = self._tail()
        power = 1 / c + 1
        falling = F.where(power == 0, 0.0, power * (c * z).log1p())
        near = z + self.concentration * (z.clamp(max=FAR) - z.clamp(max=FAR).pow(2) / 2)
        return -self.scale.log() - F.where(zero, near, falling)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a sample above *value*."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, c = self._tail()
        return -F.where(zero, z - self.concentration * z.clamp(max=FAR).pow(2) / 2, (c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return self.cdf(value).log()

    def cdf(self, value: Tensor) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._tail()
        y = -(-value).log1p()
        near = y + self.concentration * y.clamp(max=FAR).pow(2) / 2
        return self.loc + self.scale * F.where(zero, near, (c * y).expm1() / c)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
