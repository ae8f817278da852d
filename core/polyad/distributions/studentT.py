"""Student's t-distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F
from ..tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution of *df* degrees of freedom (above 0), moved by *loc* and scaled by *scale* (above 0).

    Raises ValueError for others.

    >>> import polyad as torch
    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    parts = ("_chi2",)
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self._parametrize(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return F.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        variance = self.scale.pow(2) * self.df / (F.where(finite, self.df, 3.0) - 2)
        return F.where(finite, variance, F.where(self.df > 1, math.inf, F.full_like(self.df, math.nan)))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y, df = (value - self.loc) / self.scale, self.df
        normalizer = self.scale.log() + 0.5 * (df * math.pi).log() + (0.5 * df).lgamma() - (0.5 * (df + 1)).lgamma()
        return -0.5 * (df + 1) * (y.pow(2) / df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
