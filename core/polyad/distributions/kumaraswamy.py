"""The Kumaraswamy distribution: like beta's, with a closed distribution function."""

from __future__ import annotations

import math

from .. import functions as F
from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers in [0, 1] with distribution function ``1 - (1 - x**concentration1)**concentration0`` (both above 0).

    Raises ValueError for others.

    >>> import polyad as torch
    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = F.zeros_like(self.concentration0)
        base = Uniform(zeros, zeros + 1, validate_args=False)
        super().__init__(
            base,
            [
                PowerTransform(self.concentration0.reciprocal()),
                AffineTransform(1.0, -1.0),
                PowerTransform(self.concentration1.reciprocal()),
            ],
            validate_args=validate_args,
        )

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = ((a - 1).log() - (a * b - 1).log()) / a
        return F.where((a < 1) | (b < 1), math.nan, log_mode.exp())

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return 1 - 1 / b + (1 - 1 / a) * harmonic - a.log() - b.log()
