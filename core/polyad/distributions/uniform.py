"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..tensor import Tensor
from . import constraints
from .constraints import Constraint, dependent_property
from .distribution import Distribution
from .utils import standard_uniform

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers in [low, high), all equally likely. Raises ValueError unless low < high.

    >>> import polyad as torch
    >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0))
    tensor(-1.3863)
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Mapping[str, Constraint]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.low))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value) & (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
