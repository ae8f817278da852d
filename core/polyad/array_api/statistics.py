"""Statistical and utility functions: reductions over any number of axes, and running sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import functions
from ..base.dtypes import DType
from ..base.shapes_and_strides import normalize_dims
from ..errors import ArgumentError
from ..functions import diff as _diff
from ..tensor import Tensor

Axes = int | tuple[int, ...] | None


def _over(reduce: Callable[..., Tensor], x: Tensor, axis: Axes, keepdims: bool, **options: Any) -> Tensor:
    """A reduction over *axis*. Over no axes each element is reduced by itself, while PyTorch's ``()`` means all."""
    if isinstance(axis, (tuple, list)) and not axis:
        return reduce(x.unsqueeze(0), 0, **options)
    dims = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return reduce(x, dims, keepdim=keepdims, **options)


def sum(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The sum; integers add up in int64."""
    return _over(functions.sum, x, axis, keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The product; integers multiply in int64."""

    def reduce(x: Tensor, dims: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
        ordered = normalize_dims(dims, x.ndim, "prod")
        if not ordered:
            return functions.prod(x, dtype=dtype)
        for dim in reversed(ordered):
            x = functions.prod(x, dim, keepdim, dtype=dtype)
        return x

    return _over(reduce, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean of floating point numbers."""
    return _over(functions.mean, x, axis, keepdims)


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance, the sum of squares divided by the count less *correction*."""
    return _over(functions.var, x, axis, keepdims, correction=correction)


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return _over(functions.std, x, axis, keepdims, correction=correction)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element. Raises ValueError or IndexError where there is none."""
    return _over(functions.amax, x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest element. Raises ValueError or IndexError where there is none."""
    return _over(functions.amin, x, axis, keepdims)


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are true, numbers other than zero and NaN being so."""
    return _over(functions.all, x != 0, axis, keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether any element is true, numbers other than zero and NaN being so."""
    return _over(functions.any, x != 0, axis, keepdims)


def _running(
    name: str, step: Callable[..., Tensor], first: int, x: Tensor, axis: int | None, dtype: DType | None, initial: bool
) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError(f"{name}: axis is missing", operands={"x": x}, fix="pass one of its dimensions")
        axis = 0
    result = step(x, axis, dtype=dtype)
    if not initial:
        return result
    shape: list[Any] = list(result.shape)
    shape[axis] = 1
    return functions.cat([functions.full(shape, first, dtype=result.dtype, device=x.device), result], axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The sums of the first elements along *axis*, with *include_initial* beginning with the sum of none.

    Raises ValueError if *axis* is missing for a tensor that has not one dimension.

    >>> from polyad import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _running("cumulative_sum", functions.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The products of the first elements along *axis*, with *include_initial* beginning with the product of none.

    Raises ValueError if *axis* is missing for a tensor that has not one dimension.
    """
    return _running("cumulative_prod", functions.cumprod, 1, x, axis, dtype, include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along *axis*, taken *n* times."""
    return _diff(x, n, axis, prepend, append)
