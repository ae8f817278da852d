"""The concrete distribution over vectors of probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical, OverCategorical
from .odds import CATEGORICAL
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs, standard_uniform

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """The logarithms of `RelaxedOneHotCategorical`.

    >>> import polyad as torch
    >>> logs = torch.distributions.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(2))
    >>> logs.event_shape
    polyad.Size([2])
    """

    arg_constraints = CATEGORICAL
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._over(Categorical(probs, logits, validate_args=False), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = clamp_probs(standard_uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self.event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + math.lgamma(count) + F.as_tensor(self.temperature).log() * (count - 1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of probabilities with gradients, which come near a single 1 as *temperature* falls (C. J. Maddison,
    A. Mnih and Y. W. Teh, "The concrete distribution", ICLR 2017). By *probs* or by *logits*; see `Categorical`.

    >>> import polyad as torch
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(2.2), torch.ones(3)).rsample().shape
    polyad.Size([3])
    """

    arg_constraints = CATEGORICAL
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
