"""The distribution of Lewandowski, Kurowicka and Joe over matrices of correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F, linalg
from ..base.dtypes import finfo
from ..errors import ArgumentError
from ..tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all, standard_normal

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of (dim, dim) matrices of correlations, with density proportional to
    ``det ** (concentration - 1)`` of the matrix; at 1 all matrices are equally likely.

    Drawn by the onion method (D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on
    vines and extended onion method", Journal of Multivariate Analysis 100, 2009). Raises ValueError for a dim below 2
    and concentrations that are not above 0.

    >>> import polyad as torch
    >>> torch.distributions.LKJCholesky(3, 0.5).sample().shape
    polyad.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    parts = ("_beta",)

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ArgumentError(f"LKJCholesky: dim {dim} is below 2", fix="pass the number of variables")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)
        steps = F.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        steps = F.cat([steps[:1], steps])
        rest = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * steps
        self._beta = Beta(steps + 0.5, rest, validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # Row i is a point on the sphere of i dimensions, at a beta distributed distance from the axis.
        square = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = standard_normal(self._extended_shape(sample_shape), square).tril(-1)
        norms: Tensor = linalg.norm(normal, dim=-1, keepdim=True)
        rows = square.sqrt() * normal / F.where(norms > 0, norms, 1.0)
        diagonal = (1 - rows.pow(2).sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
        return rows + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, d = self.concentration, self.dim
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        order = 2 * (a - 1).unsqueeze(-1) + d - F.arange(2, d + 1, dtype=a.dtype, device=a.device)
        alpha = a + 0.5 * (d - 1)
        normalizer = 0.5 * (d - 1) * math.log(math.pi) + F.mvlgamma(alpha - 0.5, d - 1) - alpha.lgamma() * (d - 1)
        return (order * diagonal.log()).sum(-1) - normalizer
