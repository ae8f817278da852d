"""Dimensions of the batch read as dimensions of the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from ..errors import ArgumentError, NotSupported
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """*base_distribution* with its last *reinterpreted_batch_ndims* batch dimensions as part of the event: log_prob and
    entropy are summed over them.

    Raises ValueError if the batch has fewer dimensions.

    >>> import polyad as torch
    >>> base = torch.distributions.Normal(torch.zeros(2, 3), 1.0)
    >>> torch.distributions.Independent(base, 1).log_prob(torch.zeros(2, 3)).shape
    polyad.Size([2])
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    base_dist: D

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ArgumentError(
                f"Independent: reinterpreted_batch_ndims is {reinterpreted_batch_ndims}, "
                f"the batch of base_distribution {tuple(batch)} has {len(batch)} dimensions",
                fix="pass at most that number",
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution  # type: ignore[assignment]
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.has_rsample = base_distribution.has_rsample
        self.has_enumerate_support = base_distribution.has_enumerate_support and not reinterpreted_batch_ndims
        event = (*batch[cut:], *base_distribution.event_shape)
        super().__init__(batch[:cut], event, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Independent[D]:
        new = self._new_instance(_instance)
        new.base_dist = self.base_dist.expand((*batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims]))
        return super().expand(batch_shape, new)

    @dependent_property
    def support(self) -> Any:
        support = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(support, dims) if dims else support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotSupported(
                "Independent: enumerate_support would list all combinations of the elements' values",
                fix="enumerate the support of base_dist",
            )
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
