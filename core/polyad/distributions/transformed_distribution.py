"""A distribution whose samples go through transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes_and_strides import Size
from ..errors import ArgumentError, ConditionError
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution
from .independent import Independent
from .transform import Transform
from .transform_sequences import ComposeTransform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Samples of *base_distribution* after *transforms*, one or a list; densities change by their Jacobians.

    Raises ValueError for what is no transform, and for a base with fewer dimensions than the transforms' events.

    >>> import polyad as torch
    >>> from polyad.distributions import ExpTransform, Normal, TransformedDistribution
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    base_dist: Any

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ArgumentError(
                f"{type(self).__name__}: transforms must be a Transform or a list of them",
                operands={"transforms": transforms},
                fix="pass transforms, such as [ExpTransform()]",
            )
        whole = ComposeTransform(self.transforms)
        domain_dims, codomain_dims = whole.domain.event_dim, whole.codomain.event_dim
        shape = Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        base_dims = len(base_distribution.event_shape)
        if len(shape) < domain_dims:
            raise ArgumentError(
                f"{type(self).__name__}: events of the transforms have {domain_dims} dimensions, base_distribution "
                f"{tuple(shape)} has {len(shape)}",
                fix="expand base_distribution",
            )
        forward = whole.forward_shape(shape)
        expanded = whole.inverse_shape(forward)
        if expanded != shape:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_dims])
        if domain_dims > base_dims:
            base_distribution = Independent(base_distribution, domain_dims - base_dims)
        self.base_dist = base_distribution
        self.has_rsample = base_distribution.has_rsample
        event_dims = max(codomain_dims, base_dims + codomain_dims - domain_dims)
        cut = len(forward) - event_dims
        if cut < 0:
            raise ConditionError(
                f"{type(self).__name__}: results {tuple(forward)} have fewer than {event_dims} dimensions",
                fix="expand base_distribution",
            )
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._new_instance(_instance)
        shape: Sequence[int] = (*batch_shape, *self.event_shape)
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return super().expand(batch_shape, new)

    @dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims = len(self.event_shape)
        terms = []
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            terms.append(sum_rightmost(transform.log_abs_det_jacobian(x, value), dims - transform.domain.event_dim))
            value = x
        result = sum_rightmost(self.base_dist.log_prob(value), dims - len(self.base_dist.event_shape))
        for term in terms:
            result = result - term
        return result

    def _rising(self, probability: Tensor) -> Tensor:
        """*probability*, or what is left to 1 where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._rising(value)))
