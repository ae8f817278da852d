"""The transforms of random variables. What they share is in transform.py, which says how to add one; those that are
made of others are in transform_sequences.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import functions as F, linalg
from ..base.dtypes import finfo
from ..base.shapes_and_strides import Size
from ..compatibility.absent import lacking
from ..errors import ArgumentError
from ..ops.nn.activation.smooth import logsigmoid, softplus
from ..ops.nn.padding import pad
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .transform import Transform, at_least, same
from .transform_sequences import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    identity_transform,
)
from .utils import broadcast_all, lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

if TYPE_CHECKING:
    from .distribution import Distribution

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

__getattr__ = lacking(__name__)


class ExpTransform(Transform):
    """``exp(x)``.

    >>> import polyad as torch
    >>> torch.distributions.ExpTransform().inv(torch.tensor(1.0))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers.

    >>> import polyad as torch
    >>> torch.distributions.PowerTransform(2.0)(torch.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    arguments = ("exponent",)
    equal_by_arguments = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return F.broadcast_shapes(tuple(shape), tuple(self.exponent.shape))

    inverse_shape = forward_shape


def _inside(y: Tensor) -> Tensor:
    """*y* moved into the open interval (0, 1)."""
    limits = finfo(y.dtype)
    return y.clamp(limits.tiny, 1 - limits.eps)


class SigmoidTransform(Transform):
    """``1 / (1 + exp(-x))``, never exactly 0 or 1.

    >>> import polyad as torch
    >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
    tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        return _inside(F.sigmoid(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """``log(1 + exp(x))``.

    >>> import polyad as torch
    >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
    tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Transform):
    """``tanh(x)``. Near -1 and 1 the inverse is inaccurate: use a cache where it is wanted of samples.

    >>> import polyad as torch
    >>> torch.distributions.TanhTransform().log_abs_det_jacobian(torch.tensor(0.0), torch.tensor(0.0))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return F.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """``|x|``, of which the inverse is the positive number.

    >>> import polyad as torch
    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``loc + scale * x``, of events with *event_dim* dimensions.

    >>> import polyad as torch
    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True
    arguments = ("loc", "scale", "event_dim")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and same(self.loc, other.loc) and same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        scale = self.scale
        return scale.sign() if isinstance(scale, Tensor) else (scale > 0) - (scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log().expand(x.shape)
        else:
            result = F.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(result, self.event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return F.broadcast_shapes(tuple(shape), *(tuple(getattr(a, "shape", ())) for a in (self.loc, self.scale)))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """Vectors of D (D - 1) / 2 numbers as the Cholesky factor of a (D, D) matrix of correlations, row by row: each row
    of the factor is a stick of length 1, broken into signed pieces by ``tanh(x)``.

    >>> import polyad as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        parts = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), -1)
        left = (1 - parts.pow(2)).sqrt().cumprod(-1)
        parts = parts + F.eye(parts.shape[-1], dtype=x.dtype, device=x.device)
        return parts * pad(left[..., :-1], (1, 0), value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], (1, 0), value=1)
        return F.atanh(tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt())

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        tanh = 2 * (x + softplus(-2 * x) - math.log(2)).sum(-1)
        return 0.5 * left.log().sum(-1) - tanh

    def forward_shape(self, shape: Sequence[int]) -> Size:
        at_least(self, shape, 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ArgumentError(
                f"CorrCholeskyTransform: {n} numbers are not what a square matrix has below its diagonal",
                fix="pass D (D - 1) / 2 numbers",
            )
        return Size((*shape[:-1], d, d))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        at_least(self, shape, 2)
        d = shape[-1]
        if shape[-2] != d:
            raise ArgumentError(f"CorrCholeskyTransform: {tuple(shape)} is not square", fix="pass square matrices")
        return Size((*shape[:-2], d * (d - 1) // 2))


class _OfVectors(Transform):
    domain = constraints.real_vector
    codomain = constraints.simplex
    equal_by_arguments = True
    added = 0

    def forward_shape(self, shape: Sequence[int]) -> Size:
        at_least(self, shape, 1)
        return Size((*shape[:-1], shape[-1] + self.added))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        at_least(self, shape, 1)
        return Size((*shape[:-1], shape[-1] - self.added))


class SoftmaxTransform(_OfVectors):
    """``exp(x)`` over its sum: not bijective, the inverse is ``log(y)``.

    >>> import polyad as torch
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def _call(self, x: Tensor) -> Tensor:
        return F.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(_OfVectors):
    """Vectors of K - 1 numbers as K probabilities: ``sigmoid(x)`` says which part of what is left is broken off. Zeros
    become equal probabilities.

    >>> import polyad as torch
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    bijective = True
    added = 1

    def _offset(self, x: Tensor) -> Tensor:
        at_least(self, x.shape, 1)
        return F.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        z = _inside(F.sigmoid(x - self._offset(x)))
        return pad(z, (0, 1), value=1) * pad((1 - z).cumprod(-1), (1, 0), value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = y[..., :-1]
        left = (1 - pieces.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return pieces.log() - left.log() + self._offset(pieces)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x)
        return (logsigmoid(x) - x + y[..., :-1].log()).sum(-1)


def _diagonal_changed(matrix: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    return matrix.tril(-1) + change(matrix.diagonal(dim1=-2, dim2=-1)).diag_embed()


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangular ones with a positive diagonal: what is above it is left out, it becomes its
    exponential.

    >>> import polyad as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        return _diagonal_changed(x, F.exp)

    def _inverse(self, y: Tensor) -> Tensor:
        return _diagonal_changed(y, F.log)


class PositiveDefiniteTransform(Transform):
    """Square matrices as positive-definite ones: ``L L^T`` of `LowerCholeskyTransform`'s result L.

    >>> import polyad as torch
    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    equal_by_arguments = True

    def _call(self, x: Tensor) -> Tensor:
        factor = _diagonal_changed(x, F.exp)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return _diagonal_changed(linalg.cholesky(y), F.log)


class ReshapeTransform(Transform):
    """Events of *in_shape* as events of *out_shape*. Raises ValueError unless these have as many elements.

    >>> import polyad as torch
    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.zeros(3, 4)).shape
    polyad.Size([3, 2, 2])
    """

    bijective = True
    arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ArgumentError(
                f"ReshapeTransform: in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} differ in their "
                f"numbers of elements, {self.in_shape.numel()} and {self.out_shape.numel()}",
                fix="pass shapes of as many elements",
            )
        super().__init__(cache_size)

    @dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.ndim - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.ndim - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return F.zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def _replaced(self, shape: Sequence[int], old: Size, new: Size) -> Size:
        at_least(self, shape, len(old))
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ArgumentError(
                f"ReshapeTransform: events are {tuple(old)}, the value {tuple(shape)} ends in {tuple(shape[cut:])}",
                fix="reshape the value",
            )
        return Size((*shape[:cut], *new))

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._replaced(shape, self.out_shape, self.in_shape)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of *distribution*, to [0, 1].

    >>> import polyad as torch
    >>> normal = torch.distributions.Normal(0.0, 1.0)
    >>> torch.distributions.CumulativeDistributionTransform(normal)(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    arguments = ("distribution",)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
