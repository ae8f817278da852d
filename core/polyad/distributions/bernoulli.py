"""The Bernoulli distribution: one event that happens or not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F
from ..history.grad_mode import no_grad
from ..ops.nn.losses.binary import binary_cross_entropy_with_logits
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .odds import BINARY, Odds
from .utils import Number, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability *probs*, else 0; or by log odds *logits*.

    Raises ValueError unless one of the two is given, and for probabilities outside [0, 1].

    >>> import polyad as torch
    >>> torch.distributions.Bernoulli(torch.tensor([0.25, 1.0])).mean
    tensor([0.2500, 1.0000])
    """

    arg_constraints = BINARY
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._parametrize_odds(validate_args, probs, logits)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return F.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return F.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._along_batch(F.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (F.logit(self.probs),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return F.log1p(F.exp(natural_params[0]))
