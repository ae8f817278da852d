"""The geometric distribution: failures before the first success."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F
from ..base.dtypes import finfo
from ..history.grad_mode import no_grad
from ..ops.nn.losses.binary import binary_cross_entropy_with_logits
from ..tensor import Tensor
from . import constraints
from .odds import BINARY, Odds
from .utils import Number, broadcast_all, standard_uniform

__all__ = ["Geometric"]


class Geometric(Odds):
    """The number of failures before the first success of probability *probs*, or of log odds *logits*.

    Raises ValueError unless one of the two is given, and for probabilities outside (0, 1].

    >>> import polyad as torch
    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = BINARY
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._parametrize_odds(validate_args, probs, logits)
        if self._validate_args and probs is not None:
            self._check("probs", self.probs, constraints.positive, "parameter")

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return F.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            u = standard_uniform(self._extended_shape(sample_shape), self.probs)
            u = u.clamp(min=finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failing = F.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-failing).log1p() + probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
