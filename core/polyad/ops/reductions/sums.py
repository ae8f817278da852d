"""Sums, means and products over all or some dimensions: the pattern of a reduction.

Public functions take a dim, several dims or none; the primitives get them as sorted tuples counted from the front.
`sum` has the name of Python's own, which this module therefore cannot use.

To add a reduction: declare ``_name(input, dims, keepdim)`` with a gradient (`expand_reduced` brings a gradient back to
the input's shape), front it with a function that normalises *dim*, and add its kernel to each backend's table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...base.dtypes import FLOATING, DType, float32
from ...base.shapes_and_strides import Shape, normalize_dim, normalize_dims, reduced_shape
from ...dispatch.forward import linear_in, reduction
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import first, floating_only, summed
from ...dispatch.structure import Reduction
from ...errors import DTypeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import conjugate
from ..pointwise.where import _where
from ..shaping.reshape import _expand, _permute, _reshape

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None


@primitive(dtype=summed, structure=Reduction("dims", "sum"))
def _sum(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The sum over *dims*; integers and bool add up in int64, float16 and bfloat16 in float32."""


gradient(_sum, input=lambda g, input_shape, dims, keepdim: expand_reduced(g, input_shape, dims, keepdim))
linear_in(_sum, "input")


@function(dtype_of_out=True)
def sum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum of all elements, or over *dim* (an int or several).

    Integers and bool add up in int64; *dtype* converts the elements first, and is the result's. Raises IndexError for a
    dim out of range.

    >>> import polyad
    >>> polyad.sum(polyad.tensor([[1, 2], [3, 4]]), dim=1)
    tensor([3, 7])
    """
    check_tensor(input, "sum", "input")
    if dtype is not None:
        return _sum(input.to(dtype), normalize_dims(dim, len(input._array.shape), "sum"), keepdim).to(dtype)
    return _sum(input, normalize_dims(dim, len(input._array.shape), "sum"), keepdim)


def expand_reduced(gradient: Tensor, shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """A reduction's gradient expanded back to *shape*, as a view."""
    return _expand(keep_dims(gradient, shape, dims, keepdim), shape)


def keep_dims(result: Tensor, shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The result of reducing *shape* over *dims*, with the reduced dimensions kept at size 1."""
    if keepdim or not dims or len(dims) == len(shape):
        return result
    return _reshape(result, reduced_shape(shape, dims, True))


def sum_to(input: Tensor, shape: Shape) -> Tensor:
    """*input* summed over the dimensions along which *shape* was broadcast to it, or expanded if *shape* is larger."""
    have = input._array.shape
    lead = len(have) - len(shape)
    if lead < 0:
        return _expand(input, shape)
    ones = [dim for dim in range(lead, len(have)) if shape[dim - lead] == 1 and have[dim] != 1]
    result = _sum(input, tuple(ones), True) if ones else input
    if lead:
        result = _sum(result, tuple(range(lead)), False)
    return result if result._array.shape == shape else _expand(result, shape)


def count(shape: Shape, dims: tuple[int, ...]) -> int:
    """How many elements each element of the result combines when *shape* is reduced over *dims*."""
    return math.prod([shape[dim] for dim in dims])


@composite(dtype=floating_only("mean", first), structure=Reduction("dims", "mean"), method=False)
def _mean(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The mean over *dims*; float16 and bfloat16 add up in float32."""
    dtype = input._type.dtype
    wide = input.to(float32) if dtype.itemsize == 2 else input
    return (_sum(wide, dims, keepdim) / count(input._array.shape, dims)).to(dtype)


gradient(
    _mean,
    input=lambda g, input_shape, dims, keepdim: expand_reduced(
        g / (count(input_shape, dims) or 1), input_shape, dims, keepdim
    ),
)
linear_in(_mean, "input")


@function(dtype_of_out=True)
def mean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor | None = None
) -> Tensor:
    """The mean of all elements, or over *dim*; nan of none. *dtype* converts the elements first.

    Raises RuntimeError for integers and bool, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.mean(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([2., 3.])
    """
    check_tensor(input, "mean", "input")
    if dtype is not None:
        input = input.to(dtype)
    return _mean(input, normalize_dims(dim, len(input._array.shape), "mean"), keepdim)


def _without_nan(op: str, input: Tensor, dtype: DType | None) -> Tensor:
    """*input*, in *dtype* if that is given, with 0 where it is nan."""
    input_dtype = check_tensor(input, op, "input")._type.dtype
    if input_dtype.is_complex:
        raise DTypeError(f"{op}: input is complex", operands={"input": input}, fix="use the real and imaginary parts")
    given = input if dtype is None else input.to(dtype)
    return _where(input != input, 0, given) if input_dtype.is_floating_point else given


@function(dtype_of_out=True)
def nansum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor | None = None
) -> Tensor:
    """`sum` with nan counted as 0.

    Raises RuntimeError for complex tensors, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.nansum(polyad.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    known = _without_nan("nansum", input, dtype)
    result = _sum(known, normalize_dims(dim, input.ndim, "nansum"), keepdim)
    return result if dtype is None else result.to(dtype)


@function(dtype_of_out=True)
def nanmean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor | None = None
) -> Tensor:
    """The mean of the elements that are not nan, of all or over *dim*; nan where there is none.

    Raises RuntimeError for integers, bool and complex tensors, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.nanmean(polyad.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    input_dtype = check_tensor(input, "nanmean", "input")._type.dtype
    if input_dtype.category < FLOATING:
        raise DTypeError(
            f"nanmean: input is {input_dtype.name}", operands={"input": input}, fix="convert it with .float()"
        )
    known = _without_nan("nanmean", input, dtype)
    dims = normalize_dims(dim, input.ndim, "nanmean")
    result_dtype = known._type.dtype
    if result_dtype.itemsize == 2:
        known = known.to(float32)
    return (_sum(known, dims, keepdim) / _sum(input == input, dims, keepdim)).to(result_dtype)


@primitive(dtype=summed, structure=Reduction("dims", "prod"), method=False)
def _prod(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The product over *dims*; integers and bool multiply in int64, float16 and bfloat16 in float32."""


def _prod_grad(g: Tensor, input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Each element's factor is the product of all others, computed without dividing, so that zeros are no exception."""
    from .cumulative import _product_of_others

    shape = input._array.shape
    if not dims:
        return g
    order = (*[dim for dim in range(len(shape)) if dim not in dims], *dims)
    moved = _permute(input, order)
    flat = _reshape(moved, (*moved._array.shape[: len(shape) - len(dims)], count(shape, dims)))
    others = _reshape(_product_of_others(conjugate(flat)), moved._array.shape)
    back = tuple([order.index(dim) for dim in range(len(shape))])
    return expand_reduced(g, shape, dims, keepdim) * _permute(others, back)


gradient(_prod, input=_prod_grad)
reduction(_prod)


@function(dtype_of_out=True)
def prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The product of all elements, or over *dim*. Integers multiply in int64; *dtype* converts the elements first, and
    is the result's.

    Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.prod(polyad.tensor([[1, 2], [3, 4]]), 0)
    tensor([3, 8])
    """
    ndim = len(check_tensor(input, "prod", "input")._array.shape)
    dims = _one_or_all(dim, ndim, "prod")
    return _prod(input, dims, keepdim) if dtype is None else _prod(input.to(dtype), dims, keepdim).to(dtype)


def _one_or_all(dim: int | None, ndim: int, op: str) -> tuple[int, ...]:
    """The dims of a function that takes a single dim or none (for all), not several."""
    if dim is None:
        return tuple(range(ndim))
    at = normalize_dim(dim, ndim, op)
    return (at,) if ndim else ()
