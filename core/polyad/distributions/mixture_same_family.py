"""A mixture of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functions as F
from ..arguments import check_type
from ..errors import ArgumentError
from ..history.grad_mode import no_grad
from ..ops.nn.activation.softmax import log_softmax
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint, dependent_property
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Samples of the component that *mixture_distribution* chooses along the last batch dimension of
    *component_distribution*.

    Raises ValueError unless the first is a Categorical over as many components, and the batches broadcast.

    >>> import polyad as torch
    >>> components = torch.distributions.Normal(torch.tensor([-1.0, 3.0]), 1.0)
    >>> torch.distributions.MixtureSameFamily(torch.distributions.Categorical(torch.ones(2)), components).mean
    tensor(1.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    parts = ("_mixture_distribution",)

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        for name, value, kind in (
            ("mixture_distribution", mixture_distribution, Categorical),
            ("component_distribution", component_distribution, Distribution),
        ):
            check_type("MixtureSameFamily", name, value, kind, f"a {kind.__name__}", ArgumentError)
        mixed, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        for a, b in zip(reversed(mixed), reversed(components[:-1]), strict=False):
            if a != b and 1 not in (a, b):
                raise ArgumentError(
                    f"MixtureSameFamily: the batch of mixture_distribution {tuple(mixed)} does not broadcast with that "
                    f"of component_distribution {tuple(components[:-1])}",
                    fix="expand one of them",
                )
        count = mixture_distribution.param_shape[-1]
        if not components or components[-1] != count:
            raise ArgumentError(
                f"MixtureSameFamily: mixture_distribution chooses among {count} components, the last batch dimension "
                f"of component_distribution {tuple(components)} is another",
                fix="make that dimension the components",
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> MixtureSameFamily:
        new = self._new_instance(_instance)
        count = self._mixture_distribution.param_shape[-1]
        new._component_distribution = self._component_distribution.expand((*batch_shape, count))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return super().expand(batch_shape, new)

    @dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _pad(self, value: Tensor) -> Tensor:
        """*value* with a dimension for the components."""
        return value.unsqueeze(-1 - self._event_ndims)

    def _weights(self) -> Tensor:
        """The probabilities of the components, with a dimension for each of the event."""
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        components = self._component_distribution
        spread = (components.mean - self._pad(self.mean)).pow(2)
        return (self._weights() * (components.variance + spread)).sum(-1 - self._event_ndims)

    def cdf(self, value: Tensor) -> Tensor:
        return (self._component_distribution.cdf(self._pad(value)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_probs = self._component_distribution.log_prob(self._pad(value))
        return F.logsumexp(log_probs + log_softmax(self._mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            along = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape(*chosen.shape, *[1] * (self._event_ndims + 1))
            chosen = chosen.expand(*chosen.shape[: along + 1], *self._event_shape)
            return samples.gather(along, chosen).squeeze(along)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
