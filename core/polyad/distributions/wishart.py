"""The Wishart distribution: sums of squares and products of normal vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .. import functions as F, linalg
from ..base.dtypes import finfo
from ..base.shapes_and_strides import Size
from ..base.state import warn_user
from ..errors import ArgumentError, ConditionError
from ..ops.reductions.any_all import anywhere
from ..tensor import Tensor
from . import constraints
from .constraints import Constraint
from .exp_family import ExponentialFamily
from .gamma import log_gamma_sample
from .multivariate_normal import COVARIANCES, OfMatrix, half_log_det, matrix_given, scale_tril_of
from .utils import standard_normal

__all__ = ["Wishart"]


class Wishart(OfMatrix, ExponentialFamily):
    """Positive-definite matrices: the sum of *df* outer products of normal vectors with a covariance that is given as
    one of *covariance_matrix*, *precision_matrix* and *scale_tril*, each (..., D, D).

    Raises ValueError unless exactly one is given, for matrices that are not positive-definite, and unless df is above
    D - 1; it need not be an integer. Below D, samples may be singular in the dtype; they are drawn anew, ten times
    at most.

    >>> import polyad as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    df: Tensor

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = matrix_given(
            "Wishart",
            ConditionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        n = matrix.shape[-1]
        degrees = df if isinstance(df, Tensor) else F.tensor(df, dtype=matrix.dtype, device=matrix.device)
        if anywhere(~(degrees.detach() > n - 1)):
            raise ArgumentError(
                f"Wishart: df must be above {n - 1}, one less than the dimension of {name}",
                operands={"df": df, name: matrix},
                fix="pass more degrees of freedom",
            )
        if anywhere(degrees.detach() < n):
            warn_user("Wishart: df is below the dimension of the matrices: samples may be singular", UserWarning)
        batch = F.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(degrees.shape))
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.df = degrees.expand(batch)
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    @property
    def arg_constraints(self) -> Mapping[str, Constraint]:
        return {**COVARIANCES, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _per_matrix(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self) -> Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._per_matrix(F.where(factor > 0, factor, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._per_matrix(self.df) * (v.pow(2) + products)

    def _bartlett(self, sample_shape: Sequence[int]) -> Tensor:
        """Samples by Bartlett's decomposition: chi-distributed numbers on the diagonal, normal ones below."""
        factor, n = self._unbroadcasted_scale_tril, self._event_shape[-1]
        steps = F.arange(n, dtype=factor.dtype, device=factor.device)
        halves = (0.5 * (self.df.unsqueeze(-1) - steps)).expand((*sample_shape, *self._batch_shape, n))
        chi = (0.5 * (log_gamma_sample(halves) + math.log(2))).exp().to(factor.dtype)
        chi = chi.clamp(min=finfo(factor.dtype).eps)
        below = standard_normal(self._extended_shape(sample_shape), factor).tril(-1)
        root = factor @ (chi.diag_embed() + below)
        return root @ root.mT

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Tensor:
        shape = Size(sample_shape)
        sample = self._bartlett(shape)
        for attempt in range(10 if max_try_correction is None else max_try_correction):
            singular = linalg.cholesky_ex(sample.detach()).info != 0
            if not anywhere(singular):
                break
            if not attempt:
                warn_user("Wishart: singular samples are drawn anew", UserWarning)
            sample = F.where(self._per_matrix(singular), self._bartlett(shape), sample)
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, nu, p = self._unbroadcasted_scale_tril, self.df, self._event_shape[-1]
        solved: Tensor = F.cholesky_solve(value, factor)
        log_det: Tensor = linalg.slogdet(value).logabsdet
        return (
            -nu * (p * math.log(2) / 2 + half_log_det(factor))
            - F.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * log_det
            - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        steps = F.arange(p, dtype=nu.dtype, device=nu.device) / 2
        digammas = ((nu / 2).unsqueeze(-1) - steps).digamma().sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
            + F.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * digammas
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x, y), p = natural_params, self._event_shape[-1]
        half = y + (p + 1) / 2
        log_det: Tensor = linalg.slogdet(-2 * x).logabsdet
        return half * (math.log(2) * p - log_det) + F.mvlgamma(half, p)
