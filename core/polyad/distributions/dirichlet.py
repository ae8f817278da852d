"""The Dirichlet distribution: probabilities that add up to 1."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F
from ..arguments import check_dims
from ..base.dtypes import finfo
from ..ops.nn.activation.softmax import softmax
from ..ops.nn.embedding import one_hot
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .gamma import log_gamma_sample

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Vectors of probabilities, of the last dimension of *concentration* (above 0).

    Raises ValueError for others, and for a tensor without dimensions. Samples are gamma distributed numbers over their
    sum, taken in logarithms, so that small concentrations leave one element near 1.

    >>> import polyad as torch
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        check_dims("Dirichlet", "concentration", concentration, range(1, 65), "pass a vector")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        corner = one_hot(mode.argmax(-1), above.shape[-1]).to(mode.dtype)
        return F.where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        drawn = softmax(log_gamma_sample(concentration), -1).to(concentration.dtype)
        limits = finfo(drawn.dtype)
        return drawn.clamp(limits.tiny, 1 - limits.eps / 2)  # the density at 0 and 1 may be infinite

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return F.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


def _sample_dirichlet(input: Tensor) -> Tensor:
    """A sample of each of the Dirichlet distributions whose concentrations are the rows of *input*, under the name that
    PyTorch's programs have for it; it has no gradient.
    """
    return Dirichlet(input, validate_args=False).sample()
