"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .cauchy import Cauchy
from .half_normal import Half
from .transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute values of Cauchy distributed numbers around 0 of half-width *scale* (above 0).

    Raises ValueError for other scales.

    >>> import polyad as torch
    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    base_dist: Cauchy

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0.0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self._full(math.inf, self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
