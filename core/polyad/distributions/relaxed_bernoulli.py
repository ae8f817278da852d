"""The concrete distribution over two values."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F
from ..tensor import Tensor
from . import constraints
from .odds import BINARY, Odds
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import Number, broadcast_all, clamp_probs, standard_uniform

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds):
    """The log odds of `RelaxedBernoulli`, over all numbers.

    >>> import polyad as torch
    >>> base = torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(1.0), 0.5)
    >>> base.log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = BINARY
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._parametrize_odds(validate_args, probs, logits)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(standard_uniform(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return F.as_tensor(self.temperature).log() + difference - 2 * F.logaddexp(difference, F.zeros_like(difference))


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) with gradients, which near 0 and 1 gather as *temperature* falls (C. J. Maddison, A. Mnih and
    Y. W. Teh, "The concrete distribution", ICLR 2017). By *probs* or by *logits*.

    Raises ValueError unless one of the two is given, and for probabilities outside [0, 1].

    >>> import polyad as torch
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(2.2), torch.tensor([0.1, 0.2])).sample().shape
    polyad.Size([2])
    """

    arg_constraints = BINARY
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=False)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
