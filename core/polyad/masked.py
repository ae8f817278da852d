"""Reductions and normalisations that leave elements out, under PyTorch's path ``polyad.masked``.

Each takes a *mask* of booleans that broadcasts against the input: where it is False, an element counts as if it were
not there. Where all elements along *dim* are left out, the result is what an empty input would give: 0 for a sum, 1 for
a product, an infinity for an extremum, NaN for a mean. *dim* may be several dimensions, and means all by default;
*dtype* is that of the result.

All raise IndexError for a mask of more dimensions than the input, RuntimeError for one that does not broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import functions
from .arguments import explain
from .base.dtypes import INTEGER, DType, bool_, float32, iinfo, int64
from .base.shapes_and_strides import normalize_dims
from .errors import ArgumentError, ArgumentTypeError, IndexOutOfRange
from .functions import where
from .linalg import vector_norm
from .nn import functional as F
from .tensor import Tensor

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


def _mask_of(op: str, input: Tensor, mask: Tensor) -> Tensor:
    """*mask* in the shape of *input*."""
    if not isinstance(mask, Tensor):
        raise ArgumentTypeError(
            f"{op}: mask must be a tensor, not {type(mask).__name__}", operands={"mask": mask}, fix="pass booleans"
        )
    if mask.ndim > input.ndim:
        raise IndexOutOfRange(
            f"{op}: mask has more dimensions than input",
            operands={"input": input, "mask": mask},
            fix="give a mask that broadcasts to input",
        )
    return mask.expand(input.shape).to(bool_)


def _fill_masked(op: str, input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """*input* with *value*, which changes no result, where *mask* is False."""
    return input if mask is None else where(_mask_of(op, input, mask), input, value)


def _lowest(input: Tensor) -> Any:
    return iinfo(input.dtype).min if input.dtype.category <= INTEGER else float("-inf")


def _highest(input: Tensor) -> Any:
    return iinfo(input.dtype).max if input.dtype.category <= INTEGER else float("inf")


def _dims(op: str, dim: Dims, input: Tensor) -> tuple[int, ...]:
    """The dimensions that are reduced, all of them for None and for none."""
    return normalize_dims(dim, input.ndim, op)


def _as_sum(input: Tensor, dtype: DType | None) -> DType:
    return dtype or (int64 if input.dtype.category <= INTEGER else input.dtype)


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sum; integers add up in int64.

    >>> import polyad
    >>> polyad.masked.sum(polyad.tensor([1.0, 2.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    5.0
    """
    filled, dtype = _fill_masked("sum", input, mask, 0), _as_sum(input, dtype)
    return functions.sum(filled, _dims("sum", dim, input), keepdim, dtype=dtype)


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product; integers multiply in int64.

    >>> import polyad
    >>> polyad.masked.prod(polyad.tensor([1.0, 2.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    4.0
    """
    result = _fill_masked("prod", input, mask, 1).to(_as_sum(input, dtype))
    for one in reversed(_dims("prod", dim, input)):
        result = result.prod(one, keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums up to each place.

    >>> import polyad
    >>> polyad.masked.cumsum(polyad.tensor([1, 2, 4]), 0, mask=polyad.tensor([True, False, True])).tolist()
    [1, 1, 5]
    """
    return functions.cumsum(_fill_masked("cumsum", input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Products up to each place.

    >>> import polyad
    >>> polyad.masked.cumprod(polyad.tensor([3, 2, 4]), 0, mask=polyad.tensor([True, False, True])).tolist()
    [3, 3, 12]
    """
    return functions.cumprod(_fill_masked("cumprod", input, mask, 1), dim, dtype=dtype or input.dtype)


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The largest value.

    >>> import polyad
    >>> polyad.masked.amax(polyad.tensor([1.0, 9.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    4.0
    """
    filled = _fill_masked("amax", input, mask, _lowest(input))
    return functions.amax(filled, _dims("amax", dim, input), keepdim).to(dtype or input.dtype)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest value.

    >>> import polyad
    >>> polyad.masked.amin(polyad.tensor([2.0, 1.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    2.0
    """
    filled = _fill_masked("amin", input, mask, _highest(input))
    return functions.amin(filled, _dims("amin", dim, input), keepdim).to(dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest value is, in *input*'s dtype unless *dtype* says another.

    >>> import polyad
    >>> polyad.masked.argmax(polyad.tensor([1, 9, 4]), mask=polyad.tensor([True, False, True])).item()
    2
    """
    filled = _fill_masked("argmax", input, mask, _lowest(input))
    return functions.argmax(filled, dim, keepdim).to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest value is, in *input*'s dtype unless *dtype* says another.

    >>> import polyad
    >>> polyad.masked.argmin(polyad.tensor([2, 1, 4]), mask=polyad.tensor([True, False, True])).item()
    0
    """
    filled = _fill_masked("argmin", input, mask, _highest(input))
    return functions.argmin(filled, dim, keepdim).to(dtype or input.dtype)


def _count_valid(op: str, input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements are not left out."""
    kept = functions.ones_like(input, dtype=bool_) if mask is None else _mask_of(op, input, mask)
    return functions.sum(kept, dims, keepdim)


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mean. Raises ValueError unless the input, or *dtype*, is floating point or complex.

    >>> import polyad
    >>> polyad.masked.mean(polyad.tensor([1.0, 9.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    2.5
    """
    result = dtype or input.dtype
    if not (result.is_floating_point or result.is_complex):
        raise ArgumentError(
            f"mean: the result's dtype must be floating point or complex, not {result.name}",
            operands={"input": input},
            fix="pass dtype=polyad.float32",
        )
    dims = _dims("mean", dim, input)
    return sum(input, dims, keepdim=keepdim, dtype=result, mask=mask) / _count_valid("mean", input, dims, keepdim, mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The median, the smaller of two; NaN, and an error for integers, where everything is left out.

    Raises ValueError for such integers.

    >>> import polyad
    >>> polyad.masked.median(polyad.tensor([1.0, 9.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    1.0
    """
    floating = input.is_floating_point()
    filled = _fill_masked("median", input if floating else input.to(float32), mask, float("nan"))
    found: Tensor = functions.nanmedian(filled, dim, keepdim).values
    if floating:
        return found
    if found.isnan().any():
        raise ArgumentError(
            "median: of integers, something must be left along dim",
            operands={"input": input, "mask": mask},
            fix="pass floating point numbers",
        )
    return found.to(dtype or input.dtype)


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of exponentials, without overflow.

    >>> import polyad
    >>> polyad.masked.logsumexp(polyad.tensor([3.0, 9.0]), mask=polyad.tensor([True, False])).item()
    3.0
    """
    filled = _fill_masked("logsumexp", input, mask, _lowest(input))
    return functions.logsumexp(filled, _dims("logsumexp", dim, input), keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), without overflow; a summand that is left out counts as 0.

    >>> import polyad
    >>> one = polyad.tensor([3.0])
    >>> polyad.masked.logaddexp(one, one, other_mask=polyad.tensor([False])).item()
    3.0
    """
    left = _fill_masked("logaddexp", input, input_mask, _lowest(input))
    right = _fill_masked("logaddexp", other, other_mask, _lowest(other))
    return functions.logaddexp(left, right).to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order *ord*; see `polyad.linalg.vector_norm`.

    >>> import polyad
    >>> polyad.masked.norm(polyad.tensor([3.0, 9.0, 4.0]), mask=polyad.tensor([True, False, True])).item()
    5.0
    """
    order = 2.0 if ord is None else ord
    filled = _fill_masked("norm", input, mask, float("inf") if order == float("-inf") else 0)
    result: Tensor = vector_norm(filled, order, _dims("norm", dim, input), keepdim, dtype=dtype or input.dtype)
    return result


def _reduce_variance(
    op: str,
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise ArgumentError(
            f"{op}: unbiased and correction say the same thing",
            operands={"unbiased": unbiased, "correction": correction},
            fix="pass correction alone",
        )
    less = float(correction) if correction is not None else 1.0 if unbiased in (None, True) else 0.0
    found = dtype or input.dtype
    result = found if found.is_floating_point or found.is_complex else float32
    dims = _dims(op, dim, input)
    count = _count_valid(op, input, dims, True, mask)
    off = input - sum(input, dims, keepdim=True, dtype=result, mask=mask) / count
    total = sum(off * off.conj(), dims, keepdim=keepdim, dtype=result, mask=mask)
    left = (count.reshape(total.shape).to(result.to_real()) - less).clamp(min=0)
    return (total / left).to(result)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance: the sum of squared distances from the mean, divided by the count less *correction* (1 by default, 0
    for ``unbiased=False``).

    >>> import polyad
    >>> polyad.masked.var(polyad.tensor([1.0, 9.0, 3.0]), mask=polyad.tensor([True, False, True])).item()
    2.0
    """
    return _reduce_variance("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of `var`.

    >>> import polyad
    >>> polyad.masked.std(polyad.tensor([1.0, 9.0, 3.0]), 0, False, mask=polyad.tensor([True, False, True])).item()
    1.0
    """
    return _reduce_variance("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Exponentials divided by their sum along *dim*; 0 for what is left out.

    >>> import polyad
    >>> polyad.masked.softmax(polyad.zeros(3), 0, mask=polyad.tensor([True, False, True])).tolist()
    [0.5, 0.0, 0.5]
    """
    return F.softmax(_fill_masked("softmax", input, mask, _lowest(input)), dim, dtype=dtype or input.dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, without overflow.

    >>> import polyad
    >>> polyad.masked.log_softmax(polyad.zeros(2), 0, mask=polyad.tensor([True, False])).tolist()
    [0.0, -inf]
    """
    return F.log_softmax(_fill_masked("log_softmax", input, mask, _lowest(input)), dim, dtype=dtype or input.dtype)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of the negated input.

    >>> import polyad
    >>> polyad.masked.softmin(polyad.zeros(3), 0, mask=polyad.tensor([True, False, True])).tolist()
    [0.5, 0.0, 0.5]
    """
    return F.softmin(_fill_masked("softmin", input, mask, _highest(input)), dim, dtype=dtype or input.dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The input divided by its `norm` of order *ord* along *dim*, which is at least *eps*; 0 for what is left out.

    >>> import polyad
    >>> polyad.masked.normalize(polyad.tensor([3.0, 9.0]), 2, 0, mask=polyad.tensor([True, False])).tolist()
    [1.0, 0.0]
    """
    lengths = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _fill_masked("normalize", input, mask, 0) / functions.maximum(lengths, lengths.new_full((), eps))


explain(globals())
