"""What distributions share that take either probabilities or logits."""

from __future__ import annotations

from typing import Any

from ..arguments import check_either
from ..base.shapes_and_strides import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits

BINARY = {"probs": constraints.unit_interval, "logits": constraints.real}
CATEGORICAL = {"probs": constraints.simplex, "logits": constraints.real_vector}


def one_given(kind: str, probs: Any, logits: Any) -> str:
    """The name of the one that is given. Raises ValueError unless exactly one is."""
    return check_either(kind, probs=probs, logits=logits)


class Odds(Distribution):
    """A distribution of events that happen or not, by ``probs`` or ``logits``; the other is computed when wanted."""

    _given: str

    def _parametrize_odds(self, validate_args: bool | None, probs: Any, logits: Any, **others: Any) -> None:
        self._given = one_given(type(self).__name__, probs, logits)
        self._parametrize(validate_args, **others, **{self._given: logits if probs is None else probs})

    @property
    def _param(self) -> Tensor:
        return getattr(self, self._given)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)
