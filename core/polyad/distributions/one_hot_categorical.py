"""The categorical distribution over vectors with a single 1."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions as F
from ..ops.nn.embedding import one_hot
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical, OverCategorical
from .odds import CATEGORICAL

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """Vectors with a 1 at a position drawn by *probs*, or by *logits*; see `Categorical`.

    >>> import polyad as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = CATEGORICAL
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._over(Categorical(probs, logits, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(-1), self.event_shape[0]).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return one_hot(self._categorical.sample(sample_shape), self.event_shape[0]).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = F.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples pass gradients to the probabilities as if they were these (Y. Bengio,
    N. Léonard and A. Courville, "Estimating or propagating gradients through stochastic neurons", 2013).

    >>> import polyad as torch
    >>> torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([0.0, 1.0])).has_rsample
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
