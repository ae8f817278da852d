"""The categorical distribution: one of some positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import functions as F
from ..arguments import check_dims
from ..base.dtypes import finfo, int64
from ..base.shapes_and_strides import Size
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution
from .odds import CATEGORICAL, one_given
from .utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Positions along the last dimension of *probs*, or of *logits*, which need not be normalised.

    Samples are int64. Raises ValueError unless one of the two is given with a dimension, and for negative
    probabilities.

    >>> import polyad as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = CATEGORICAL
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._given = one_given(type(self).__name__, probs, logits)
        given: Any = logits if probs is None else probs
        check_dims(type(self).__name__, self._given, given, range(1, 65), "pass a vector")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @property
    def _param(self) -> Tensor:
        return getattr(self, self._given)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return self._full(math.nan, self.probs)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self._full(math.nan, self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        count = Size(sample_shape).numel()
        if not count or not self._batch_shape.numel():
            return F.empty(shape, dtype=int64, device=self._param.device)
        rows = self.probs.detach().reshape(-1, self._num_events)
        return F.multinomial(rows, count, True).T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        positions, logits = F.broadcast_tensors(value.to(int64).unsqueeze(-1), self.logits)
        return logits.gather(-1, positions[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._along_batch(F.arange(self._num_events, dtype=int64, device=self._param.device), expand)


class OverCategorical(Distribution):
    """A distribution over vectors that has the parameters of a `Categorical`."""

    parts = ("_categorical",)
    _categorical: Categorical

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    def _over(self, categorical: Categorical, validate_args: bool | None) -> None:
        self._categorical = categorical
        Distribution.__init__(self, categorical.batch_shape, categorical.param_shape[-1:], validate_args=validate_args)
