"""The negative binomial distribution: successes before some number of failures."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F
from ..history.grad_mode import no_grad
from ..ops.nn.activation.smooth import logsigmoid
from ..tensor import Tensor
from . import constraints
from .gamma import Gamma
from .odds import Odds, one_given
from .utils import Number, broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds):
    """The number of successes, of probability *probs* or log odds *logits*, before *total_count* (0 or more) failures.

    Raises ValueError unless one of the two is given, for probabilities outside [0, 1), and for negative counts.

    >>> import polyad as torch
    >>> torch.distributions.NegativeBinomial(3.0, torch.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        one_given("NegativeBinomial", probs, logits)
        count, odds = broadcast_all(total_count, logits if probs is None else probs)  # type: ignore[arg-type]
        self._parametrize_odds(
            validate_args,
            None if probs is None else odds,
            odds if probs is None else None,
            total_count=count.to(odds.dtype),
        )

    @property
    def mean(self) -> Tensor:
        return self.total_count * F.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / F.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # A mixture of Poisson distributions. No failures to wait for, no successes: a rate of 0 is not gamma's.
        return Gamma(self.total_count, F.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            rate = self._gamma.sample(sample_shape)
            return F.poisson(F.where(self.total_count > 0, rate, 0.0))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        chance = n * logsigmoid(-logits) + value * logsigmoid(logits)
        choices = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        return chance + choices.masked_fill(n + value == 0, 0.0)
