"""Logarithms of sums of exponentials, without overflow. Of running sums: `logcumsumexp` in cumulative.py."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...base.shapes_and_strides import normalize_dims, reduced_shape
from ...dispatch.forward import reduction
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import promoted_float
from ...dispatch.structure import Reduction
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import conjugate
from ..pointwise.where import _where
from .max_min import _amax
from .sums import _sum, count, keep_dims

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None


@composite(dtype=promoted_float, structure=Reduction("dims"), method=False)
def _logsumexp(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """log of the sum of exp(input) over *dims*, without overflow."""
    shape = input._array.shape
    if not count(shape, dims):
        return _sum(input.exp(), dims, keepdim).log()
    largest = _finite(_amax(input.real if input._type.dtype.is_complex else input, dims, True))
    total = _sum((input - largest).exp(), dims, True).log() + largest
    return total.reshape(reduced_shape(shape, dims, keepdim))


def _finite(largest: Tensor) -> Tensor:
    """Infinities replaced by 0, so that subtracting them makes no nan."""
    return _where(largest.abs() == math.inf, 0.0, largest)


def _logsumexp_grad(g: Tensor, input: Tensor, dims: tuple[int, ...], keepdim: bool, out: Tensor) -> Tensor:
    shape = input._array.shape
    out = keep_dims(out, shape, dims, keepdim)
    # Where all elements are -inf the shares are 0, not nan: a fully masked row.
    return keep_dims(g, shape, dims, keepdim) * conjugate((input - _where(out == -math.inf, 0.0, out)).exp())


gradient(_logsumexp, input=_logsumexp_grad)
reduction(_logsumexp)


@function()
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(input))) over *dim* (an int or several), computed from the largest element down so that nothing
    overflows.

    Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.logsumexp(polyad.tensor([1000.0, 1000.0], dtype=polyad.float64), 0)
    tensor(1000.6931, dtype=polyad.float64)
    """
    check_tensor(input, "logsumexp", "input")
    return _logsumexp(input, normalize_dims(dim, input.ndim, "logsumexp"), keepdim)


alias("logsumexp", logsumexp, namespace="special")
