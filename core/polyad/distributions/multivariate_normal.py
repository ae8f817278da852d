"""The normal distribution of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F, linalg
from ..arguments import check_dims, check_either
from ..errors import ArgumentError
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]

COVARIANCES = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


def times_vector(matrix: Tensor, vector: Tensor) -> Tensor:
    return F.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(scale_tril: Tensor, x: Tensor) -> Tensor:
    """``x^T (L L^T)^-1 x``, of matrices and vectors whose batches broadcast."""
    solved: Tensor = linalg.solve_triangular(scale_tril, x.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def half_log_det(scale_tril: Tensor) -> Tensor:
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def matrix_given(kind: str, error: type[ArgumentError], **matrices: Tensor | None) -> tuple[str, Tensor]:
    """The name and the value of the matrix that is given. Raises unless it is one, with two dimensions at least."""
    name = check_either(kind, error, **matrices)
    matrix = matrices[name]
    assert matrix is not None
    check_dims(kind, name, matrix, range(2, 65), "pass (..., D, D)")
    return name, matrix


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance that *matrix*, called *name*, says."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return linalg.cholesky(matrix)
    # The factor of the reversed inverse, reversed, is the inverse of the factor.
    reversed_factor: Tensor = linalg.cholesky(matrix.flip(-2, -1))
    inverse = reversed_factor.flip(-2, -1).mT
    identity = F.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return linalg.solve_triangular(inverse, identity.expand(inverse.shape), upper=False)


class OfMatrix(Distribution):
    """What distributions share that take a covariance in one of three ways; the others are computed when wanted."""

    _unbroadcasted_scale_tril: Tensor

    def _matrix_shape(self) -> tuple[int, ...]:
        n = self._event_shape[-1]
        return (*self._batch_shape, n, n)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return F.matmul(factor, factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        identity = F.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device).expand(factor.shape)
        inverse: Tensor = linalg.solve_triangular(factor, identity, upper=False)
        return F.matmul(inverse.mT, inverse).expand(self._matrix_shape())


class MultivariateNormal(OfMatrix):
    """Normally distributed vectors of mean *loc* (..., D) and a covariance that is given as one of *covariance_matrix*,
    *precision_matrix* (its inverse) and *scale_tril* (its lower Cholesky factor), each (..., D, D).

    Raises ValueError unless exactly one is given, for matrices that are not positive-definite, and without dimensions.

    >>> import polyad as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, **COVARIANCES}
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_dims("MultivariateNormal", "loc", loc, range(1, 65), "pass (..., D)")
        name, matrix = matrix_given(
            "MultivariateNormal",
            ArgumentError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        batch = F.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._extended_shape())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + times_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(factor)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (half_log_det(self._unbroadcasted_scale_tril) + constant).expand(self._batch_shape)
