"""The multinomial distribution: how often each position is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functions as F
from ..arguments import check_type
from ..errors import NotSupported
from ..tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical, OverCategorical
from .constraints import dependent_property
from .odds import CATEGORICAL
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """How often each position comes in *total_count* draws by *probs*, or by *logits*; see `Categorical`.

    Raises NotImplementedError unless total_count is an int.

    >>> import polyad as torch
    >>> torch.distributions.Multinomial(8, torch.tensor([1.0, 3.0])).mean
    tensor([2., 6.])
    """

    arg_constraints = CATEGORICAL

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_type("Multinomial", "total_count", total_count, int, "one int for the whole batch", NotSupported)
        self.total_count = total_count
        self._over(Categorical(probs, logits, validate_args=False), validate_args)

    @dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = F.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add(-1, drawn, F.ones_like(drawn)).to(self.probs.dtype)

    def entropy(self) -> Tensor:
        n = self.total_count
        binomial = Binomial(n, probs=self.probs)
        support = binomial.enumerate_support(expand=False)[1:]
        choices = (binomial.log_prob(support).exp() * (support + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + choices

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0.0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
