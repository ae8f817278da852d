"""The Cauchy distribution, which has no mean and no variance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import standard_uniform

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Cauchy distributed numbers around *loc* with half-width *scale* (above 0). Raises ValueError for other scales.

    >>> import polyad as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self._full(math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._full(math.inf, self.loc)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).pow(2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return F.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return F.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return self.scale.log() + math.log(4 * math.pi)
