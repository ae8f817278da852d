"""Exponential families, whose entropies and divergences follow from the derivatives of the log normalizer."""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..history.grad_mode import enable_grad
from ..tensor import Tensor
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions of density ``exp(t(x) . theta - F(theta) + k(x))``.

    A subclass gives the natural parameters theta, the log normalizer F and the mean of the carrier measure k; entropy
    and, between members of one family, kl_divergence then follow (F. Nielsen and R. Nock, "Entropies and
    cross-entropies of exponential families", ICIP 2010).
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def _normalizer_with_slopes(self) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
        """The natural parameters, the log normalizer there and its derivatives, with history if the parameters have."""
        given = self._natural_params
        with enable_grad():
            params = tuple(p if p.requires_grad else p.detach().requires_grad_() for p in given)
            normalizer = self._log_normalizer(*params)
            slopes: Any = grad(normalizer.sum(), params, create_graph=True)
        if any(p.requires_grad for p in given):
            return params, normalizer, slopes
        return given, normalizer.detach(), tuple(slope.detach() for slope in slopes)

    def entropy(self) -> Tensor:
        params, normalizer, slopes = self._normalizer_with_slopes()
        result = normalizer - self._mean_carrier_measure
        for param, slope in zip(params, slopes, strict=True):
            term = param * slope
            result = result - sum_rightmost(term, term.ndim - len(self._batch_shape))
        return result
