"""The Poisson distribution: events in a stretch of time."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .utils import Number, broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Numbers of events of mean *rate* (0 or more). Raises ValueError for other rates.

    >>> import polyad as torch
    >>> torch.distributions.Poisson(4.0).variance
    tensor(4.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Tensor | Number, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return F.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return F.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].exp()
