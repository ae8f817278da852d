"""The binomial distribution: how many of some trials succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functions as F
from ..errors import NotSupported
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .odds import BINARY, Odds, one_given
from .utils import Number, broadcast_all

__all__ = ["Binomial"]


class Binomial(Odds):
    """The number of successes in *total_count* trials of probability *probs*, or of log odds *logits*.

    Raises ValueError unless one of the two is given, for probabilities outside [0, 1], and for counts that are no
    integers of 0 or more.

    >>> import polyad as torch
    >>> torch.distributions.Binomial(10, torch.tensor([0.0, 0.5])).mean
    tensor([0., 5.])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **BINARY}
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        one_given("Binomial", probs, logits)
        count, odds = broadcast_all(total_count, logits if probs is None else probs)  # type: ignore[arg-type]
        self._parametrize_odds(
            validate_args,
            None if probs is None else odds,
            odds if probs is None else None,
            total_count=count.to(odds.dtype),
        )

    @dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return value * logits + choices - n * F.logaddexp(logits, F.zeros_like(logits))

    def _count(self, wanted: str) -> int:
        highest, lowest = self.total_count.max(), self.total_count.min()
        if highest != lowest:
            raise NotSupported(
                f"Binomial: {wanted} of a batch with different numbers of trials would have different lengths",
                operands={"total_count": self.total_count},
                fix="ask for each number of trials separately",
            )
        return int(highest)

    def entropy(self) -> Tensor:
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._count("enumerate_support")
        return self._along_batch(F.arange(count + 1, dtype=self._param.dtype, device=self._param.device), expand)
