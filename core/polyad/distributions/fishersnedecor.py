"""The F-distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F
from ..base.dtypes import finfo
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import log_gamma_sample

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two averages of squared normal numbers, *df1* over *df2* of them (above 0).

    Raises ValueError for others.

    >>> import polyad as torch
    >>> torch.distributions.FisherSnedecor(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        df2 = F.where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return F.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = F.where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape, dtype = self._extended_shape(sample_shape), self.df1.dtype
        upper = log_gamma_sample(self.df1.expand(shape) * 0.5) - self.df1.log()
        lower = log_gamma_sample(self.df2.expand(shape) * 0.5) - self.df2.log()
        return (upper - lower).exp().to(dtype).clamp(min=finfo(dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * value.log()
        return normalizer + power - (half1 + half2) * (ratio * value).log1p()
