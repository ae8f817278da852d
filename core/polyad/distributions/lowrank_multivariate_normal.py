"""The normal distribution of vectors whose covariance is a matrix of low rank and a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F, linalg
from ..errors import ArgumentError, ShapeError
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import half_log_det, mahalanobis, times_vector
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


def plus_identity(matrix: Tensor) -> Tensor:
    return matrix + F.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class LowRankMultivariateNormal(Distribution):
    """Normally distributed vectors of mean *loc* (..., D) and covariance ``W W^T + diag(d)``, where W is *cov_factor*
    (..., D, M) and d is *cov_diag* (..., D), above 0.

    For M below D all is computed from (M, M) matrices (the matrix determinant lemma and Woodbury's identity). Raises
    ValueError for other diagonals and for shapes that do not fit.

    >>> import polyad as torch
    >>> LowRank = torch.distributions.LowRankMultivariateNormal
    >>> LowRank(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2)).variance
    tensor([2., 1.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        given = {"loc": loc, "cov_factor": cov_factor, "cov_diag": cov_diag}
        n = loc.shape[-1:]
        if loc.ndim < 1 or cov_factor.ndim < 2 or cov_factor.shape[-2:-1] != n or cov_diag.shape[-1:] != n:
            raise ArgumentError(
                "LowRankMultivariateNormal: loc must be (..., D), cov_factor (..., D, M) and cov_diag (..., D)",
                operands=given,
                fix="make the dimensions D equal",
            )
        try:
            mean, self.cov_factor, diagonal = F.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except ShapeError as error:
            raise ArgumentError(
                "LowRankMultivariateNormal: the batches of loc, cov_factor and cov_diag do not broadcast",
                operands=given,
                fix="make their sizes equal or 1",
            ) from error
        self.loc, self.cov_diag = mean[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        super().__init__(self.loc.shape[:-1], n, validate_args=validate_args)
        self._capacitance_tril: Tensor = linalg.cholesky(plus_identity(self._scaled_factor() @ cov_factor))

    def _scaled_factor(self) -> Tensor:
        """``W^T diag(d)^-1``."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _mahalanobis(self, x: Tensor) -> Tensor:
        inner = mahalanobis(self._capacitance_tril, times_vector(self._scaled_factor(), x))
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - inner

    def _whitener(self) -> Tensor:
        """A of ``covariance^-1 = diag(d)^-1 - A^T A``."""
        solved: Tensor = linalg.solve_triangular(self._capacitance_tril, self._scaled_factor(), upper=False)
        return solved

    def _matrix_shape(self) -> tuple[int, ...]:
        return (*self._batch_shape, *self._event_shape, *self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._extended_shape())

    @lazy_property
    def scale_tril(self) -> Tensor:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        factor: Tensor = linalg.cholesky(plus_identity(scaled @ scaled.mT))
        return (root * factor).expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return (factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed()).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        whitener = self._whitener()
        inverse = self._unbroadcasted_cov_diag.reciprocal().diag_embed() - whitener.mT @ whitener
        return inverse.expand(self._matrix_shape())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        inner = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        outer = standard_normal(shape, self.loc)
        spread = times_vector(self._unbroadcasted_cov_factor, inner) + self._unbroadcasted_cov_diag.sqrt() * outer
        return self.loc + spread

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = self._mahalanobis(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (0.5 * (self._log_det() + constant)).expand(self._batch_shape)
