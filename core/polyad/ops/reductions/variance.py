"""Variance and standard deviation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import float32
from ...base.shapes_and_strides import normalize_dims, reduced_shape
from ...base.state import warn_user
from ...dispatch.forward import reduction
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing, first, floating_only, widest
from ...dispatch.structure import Reduction
from ...errors import ArgumentTypeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_flag
from ..pointwise.arithmetic import conjugate
from ..pointwise.where import _where
from .sums import _mean, _sum, count, keep_dims

if TYPE_CHECKING:
    from collections.abc import Mapping

    Dims = int | tuple[int, ...] | list[int] | None


def _real_of(op: str) -> Any:
    """Floating and complex operands; the result is real."""
    rule = floating_only(op, first)

    def typed(types: Signature, params: Mapping[str, Any]) -> Typing:
        typing = rule(types, params)
        return Typing(typing.casts, (typing.outputs[0].to_real(),))

    return typed


@composite(dtype=_real_of("var"), structure=Reduction("dims"), method=False)
def _var(input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> Tensor:
    """The sum of squared deviations from the mean over *dims*, divided by their number less *correction*."""
    dtype = input._type.dtype
    wide = input.to(float32) if dtype.itemsize == 2 else input
    centred = wide - _mean(wide, dims, True)
    freedom = max(count(input._array.shape, dims) - correction, 0)
    squares = (centred * conjugate(centred)).real if dtype.is_complex else centred * centred
    return (_sum(squares, dims, keepdim) / freedom).to(dtype.to_real())


def _var_grad(g: Tensor, input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> Tensor:
    shape = input._array.shape
    freedom = count(shape, dims) - correction
    # With no degree of freedom left the variance is infinite, or nan: 2 / 0 times a deviation, as PyTorch's.
    scale = 2.0 / freedom if freedom > 0 else 0.0 if 0 in shape else math.inf
    return keep_dims(g, shape, dims, keepdim) * scale * (input - _mean(input, dims, True))


gradient(_var, input=_var_grad)
reduction(_var)


@composite(dtype=_real_of("std"), structure=Reduction("dims"), method=False)
def _std(input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> Tensor:
    """The square root of the variance, whose squares may be out of the range in which their root is."""
    dtype = input._type.dtype
    wide = input.to(widest(input._type)) if dtype is float32 else input
    return _var(wide, dims, correction, keepdim).sqrt().to(dtype.to_real())


def _std_grad(g: Tensor, input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool, out: Tensor) -> Tensor:
    """As the variance's; where all elements are equal PyTorch says 0, not infinity."""
    return _var_grad(_where(out == 0, 0, g / (out * 2)), input, dims, correction, keepdim)


gradient(_std, input=_std_grad)
reduction(_std)


def _correction(op: str, unbiased: Any, correction: Any) -> float:
    if correction is None:
        if unbiased is None:
            return 1
        check_flag(op, "unbiased", unbiased, fix="pass correction=0 or 1")
        return int(unbiased)
    if unbiased is not None:
        raise ArgumentTypeError(f"{op}: both unbiased and correction are given", fix="give correction only")
    if not isinstance(correction, (int, float)):
        raise ArgumentTypeError(
            f"{op}: correction is {safe_repr(correction)}, not a number", fix="pass correction=0 or 1"
        )
    return correction + 0  # of a bool the number


def _read_correction(op: str, input: Tensor, dim: Any, unbiased: Any, correction: Any) -> tuple[tuple[int, ...], float]:
    check_tensor(input, op, "input")
    if isinstance(dim, bool):
        dim, unbiased = None, dim  # PyTorch's form var(input, unbiased)
    dims, less = normalize_dims(dim, input.ndim, op), _correction(op, unbiased, correction)
    shape = input._array.shape
    if count(shape, dims) <= less and 0 not in reduced_shape(shape, dims, False):
        warn_user(
            f"{op}: {count(shape, dims)} elements less a correction of {less} leave no degree of freedom", UserWarning
        )
    return dims, less


@function()
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance of all elements, or over *dim*: squared deviations from the mean, divided by n - *correction* (1 by
    default).

    ``unbiased=False`` is an old way to say ``correction=0``. inf or nan, with a warning, if n is not larger than
    correction. Of complex elements the squared magnitudes, so real. Raises RuntimeError for integers and bool,
    IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.var(polyad.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
    tensor(1.2500)
    """
    dims, less = _read_correction("var", input, dim, unbiased, correction)
    return _var(input, dims, less, keepdim)


@function()
def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation of all elements, or over *dim*: the square root of `var`, whose arguments it has.

    >>> import polyad
    >>> polyad.std(polyad.tensor([1.0, 3.0]))
    tensor(1.4142)
    """
    dims, less = _read_correction("std", input, dim, unbiased, correction)
    return _std(input, dims, less, keepdim)


@function(method=False)
def var_mean(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean of all elements, or over *dim*; see `var`.

    >>> import polyad
    >>> polyad.var_mean(polyad.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    dims, less = _read_correction("var_mean", input, dim, unbiased, correction)
    return _var(input, dims, less, keepdim), _mean(input, dims, keepdim)


@function(method=False)
def std_mean(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean of all elements, or over *dim*; see `var`.

    >>> import polyad
    >>> polyad.std_mean(polyad.tensor([1.0, 3.0]))
    (tensor(1.4142), tensor(2.))
    """
    dims, less = _read_correction("std_mean", input, dim, unbiased, correction)
    return _std(input, dims, less, keepdim), _mean(input, dims, keepdim)
