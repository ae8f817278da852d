"""Reductions: many elements to few, over all or some dimensions.

Public functions take a dim, several dims or none; the primitives get them as sorted tuples counted from the front.
Several of the functions have the names of Python's own (``sum``, ``max``), which this module therefore cannot use.

To add a reduction: declare ``_name(input, dims, keepdim)`` with a gradient (`spread` brings a gradient back to the
input's shape), front it with a function that normalises *dim*, and add its kernel to each backend's table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import return_types
from ...backend.interface import Signature
from ...dispatch.forward import forward, linear_in, reduction
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, first, floating_only, not_complex, summed, to_int64
from ...dispatch.structure import ALL, Reduction
from ...dtypes import FLOATING, DType, float32
from ...errors import ArgumentTypeError, DTypeError, ShapeError
from ...layout import Shape, normalize_dim, normalize_dims, reduced_shape
from ...tensor import Tensor, check_tensor

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None


@primitive(dtype=summed, structure=Reduction("dims", "sum"))
def _sum(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The sum over *dims*; integers and bool add up in int64, float16 and bfloat16 in float32."""


gradient(_sum, input=lambda g, input_shape, dims, keepdim: spread(g, input_shape, dims, keepdim))
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


def spread(gradient: Tensor, shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """A reduction's gradient expanded back to *shape*, as a view."""
    from ..shaping.reshape import _expand

    return _expand(kept(gradient, shape, dims, keepdim), shape)


def kept(result: Tensor, shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The result of reducing *shape* over *dims*, with the reduced dimensions there as ones."""
    from ..shaping.reshape import _reshape

    if keepdim or not dims or len(dims) == len(shape):
        return result
    return _reshape(result, reduced_shape(shape, dims, True))


def sum_to(input: Tensor, shape: Shape) -> Tensor:
    """*input* summed over the dimensions along which *shape* was broadcast to it, or expanded if *shape* is larger."""
    from ..shaping.reshape import _expand

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
    """How many elements become one when *shape* is reduced over *dims*."""
    return math.prod([shape[dim] for dim in dims])


@composite(dtype=floating_only("mean", first), structure=Reduction("dims", "mean"), method=False)
def _mean(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The mean over *dims*; float16 and bfloat16 add up in float32."""
    kind = input._type.dtype
    wide = input.to(float32) if kind.itemsize == 2 else input
    return (_sum(wide, dims, keepdim) / count(input._array.shape, dims)).to(kind)


gradient(
    _mean,
    input=lambda g, input_shape, dims, keepdim: spread(g / (count(input_shape, dims) or 1), input_shape, dims, keepdim),
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
    from ..pointwise.selection import _where

    kind = check_tensor(input, op, "input")._type.dtype
    if kind.is_complex:
        raise DTypeError(f"{op}: input is complex", operands={"input": input}, fix="use the real and imaginary parts")
    given = input if dtype is None else input.to(dtype)
    return _where(input != input, 0, given) if kind.is_floating_point else given


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
    kind = check_tensor(input, "nanmean", "input")._type.dtype
    if kind.category < FLOATING:
        raise DTypeError(f"nanmean: input is {kind.name}", operands={"input": input}, fix="convert it with .float()")
    known = _without_nan("nanmean", input, dtype)
    dims = normalize_dims(dim, input.ndim, "nanmean")
    made = known._type.dtype
    if made.itemsize == 2:
        known = known.to(float32)
    return (_sum(known, dims, keepdim) / _sum(input == input, dims, keepdim)).to(made)


@primitive(dtype=summed, structure=Reduction("dims", "prod"), method=False)
def _prod(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The product over *dims*; integers and bool multiply in int64, float16 and bfloat16 in float32."""


def _prod_grad(g: Tensor, input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Each element's factor is the product of all others, made without dividing, so that zeros are no exception."""
    from ..pointwise.arithmetic import conjugate
    from ..shaping.reshape import _permute, _reshape
    from .cumulative import _product_of_others

    shape = input._array.shape
    if not dims:
        return g
    order = (*[dim for dim in range(len(shape)) if dim not in dims], *dims)
    moved = _permute(input, order)
    flat = _reshape(moved, (*moved._array.shape[: len(shape) - len(dims)], count(shape, dims)))
    others = _reshape(_product_of_others(conjugate(flat)), moved._array.shape)
    back = tuple([order.index(dim) for dim in range(len(shape))])
    return spread(g, shape, dims, keepdim) * _permute(others, back)


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
    """The dims of a function that takes one or none (for all), not several."""
    if dim is None:
        return tuple(range(ndim))
    at = normalize_dim(dim, ndim, op)
    return (at,) if ndim else ()


# ---------------------------------------------------------------------------------------------------- extremes


@primitive(dtype=not_complex("amax", first), structure=Reduction("dims", "max"), method=False)
def _amax(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The largest element over *dims*; nan if one is nan."""


@primitive(dtype=not_complex("amin", first), structure=Reduction("dims", "min"), method=False)
def _amin(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The smallest element over *dims*; nan if one is nan."""


def evenly(g: Tensor, input: Tensor, dims: tuple[int, ...], keepdim: bool, out: Tensor) -> Tensor:
    """The gradient of an extreme: shared evenly by the elements that equal it; nan where the extreme is nan."""
    shape = input._array.shape
    same = input == kept(out, shape, dims, keepdim)
    return same * (kept(g, shape, dims, keepdim) / _sum(same, dims, True))


gradient(_amax, input=evenly)
reduction(_amax)
gradient(_amin, input=evenly)
reduction(_amin)


def _check_not_empty(op: str, input: Tensor) -> None:
    """Raise for an extreme of nothing, which PyTorch calls a RuntimeError where no dim was named."""
    if 0 in input._array.shape:
        raise ShapeError(
            f"{op}: a tensor without elements has no extreme",
            operands={"input": input},
            fix="give a dim that has elements, or concatenate a value for that case",
        )


def _all_of(dim: Any) -> bool:
    return dim is None or (isinstance(dim, (tuple, list)) and not dim)


@function()
def amax(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element of all, or over *dim*; nan if one is nan. Equal largest elements share the gradient evenly.

    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.amax(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([5, 4])
    """
    check_tensor(input, "amax", "input")
    if _all_of(dim):
        _check_not_empty("amax", input)
    return _amax(input, normalize_dims(dim, len(input._array.shape), "amax"), keepdim)


@function()
def amin(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element of all, or over *dim*; nan if one is nan. Equal smallest elements share the gradient evenly.

    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.amin(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([1, 2])
    """
    check_tensor(input, "amin", "input")
    if _all_of(dim):
        _check_not_empty("amin", input)
    return _amin(input, normalize_dims(dim, len(input._array.shape), "amin"), keepdim)


@function()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> return_types.aminmax:
    """The smallest and the largest element of all, or over *dim*; see `amin` and `amax`.

    >>> import polyad
    >>> polyad.aminmax(polyad.tensor([3, 1, 2])).max
    tensor(3)
    """
    check_tensor(input, "aminmax", "input")
    dims = _one_or_all(dim, input.ndim, "aminmax")
    if dim is None:
        _check_not_empty("aminmax", input)
    return return_types.aminmax(_amin(input, dims, keepdim), _amax(input, dims, keepdim))


@primitive(dtype=not_complex("argmax", to_int64), structure=Reduction("dim", "argmax"), method=False)
def _argmax(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The position of the first largest element along *dim*, or of the flattened tensor; nan is largest."""


@primitive(dtype=not_complex("argmin", to_int64), structure=Reduction("dim", "argmin"), method=False)
def _argmin(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The position of the first smallest element along *dim*, or of the flattened tensor; nan is smallest."""


@function()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the largest element is, along *dim* or in the flattened tensor; the first of several. nan counts as
    largest.

    The result is int64. Raises IndexError for a dim out of range or without elements.

    >>> import polyad
    >>> polyad.argmax(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([1, 0])
    """
    return _position(_argmax, "argmax", input, dim, keepdim)


@function()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the smallest element is, along *dim* or in the flattened tensor; the first of several. nan counts as
    smallest.

    The result is int64. Raises IndexError for a dim out of range or without elements.

    >>> import polyad
    >>> polyad.argmin(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([0, 1])
    """
    return _position(_argmin, "argmin", input, dim, keepdim)


def _position(op: Any, name: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    ndim = len(check_tensor(input, name, "input")._array.shape)
    at = None if dim is None else normalize_dim(dim, ndim, name)
    result: Tensor = op(input, at if ndim else None, keepdim)
    return result


@composite(
    dtype=not_complex("max", first),
    structure=Reduction(ALL, "max"),
    grad_name="MaxBackward1",
    method=False,
)
def _max_all(input: Tensor) -> Tensor:
    """The largest of all elements; nan if one is nan."""
    return _amax(input, tuple(range(input.ndim)), False)


@composite(
    dtype=not_complex("min", first),
    structure=Reduction(ALL, "min"),
    grad_name="MinBackward1",
    method=False,
)
def _min_all(input: Tensor) -> Tensor:
    """The smallest of all elements; nan if one is nan."""
    return _amin(input, tuple(range(input.ndim)), False)


def among_equals(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    """The gradient of one chosen element: shared evenly by those that equal it, by the nans if it is nan."""
    from ..pointwise.selection import _where

    same = (input == out) | ((input != input) & (out != out))
    return _where(same, g / same.sum(), 0)


gradient(_max_all, input=among_equals)
reduction(_max_all)
gradient(_min_all, input=among_equals)
reduction(_min_all)


def _value_and_position(types: Signature, params: Mapping[str, Any]) -> Typing:
    from ...dtypes import int64

    return Typing((None,), (types[0].dtype, int64))


@composite(
    dtype=not_complex("max", _value_and_position),
    structure=Reduction("dim", "max"),
    outputs=("values", "indices"),
    method=False,
)
def _max_dim(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The largest elements along *dim* and where they are."""
    return _amax(input, (dim,), keepdim), _argmax(input, dim, keepdim)


@composite(
    dtype=not_complex("min", _value_and_position),
    structure=Reduction("dim", "min"),
    outputs=("values", "indices"),
    method=False,
)
def _min_dim(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The smallest elements along *dim* and where they are."""
    return _amin(input, (dim,), keepdim), _argmin(input, dim, keepdim)


def placed(g: Any, input_shape: Shape, dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    """The gradient of elements chosen along *dim*: theirs alone."""
    from ..creation.factories import _full
    from ..indexing.index_select import _scatter

    kind = g[0]._type
    index, values = kept(indices, input_shape, (dim,), keepdim), kept(g[0], input_shape, (dim,), keepdim)
    if len(input_shape) == 1 and not keepdim:
        index, values = index.unsqueeze(0), values.unsqueeze(0)
    return _scatter(_full(input_shape, 0, kind.dtype, kind.device), index, values, dim)


def chosen(tangent: Tensor, dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    """The tangent of elements chosen along *dim*: theirs."""
    from ..indexing.index_select import _gather

    if not tangent._array.shape:
        return tangent
    result = _gather(tangent, indices if keepdim else indices.unsqueeze(dim), dim)
    return result if keepdim else result.squeeze(dim)


gradient(_max_dim, input=placed)
forward(_max_dim, lambda input_t, dim, keepdim, indices: (chosen(input_t, dim, keepdim, indices), None))
gradient(_min_dim, input=placed)
forward(_min_dim, lambda input_t, dim, keepdim, indices: (chosen(input_t, dim, keepdim, indices), None))


def _extreme(name: str, args: tuple[Any, ...], dim: Any, keepdim: bool, other: Any) -> Any:
    """The three forms of max and min: of all elements, along a dim, of two tensors."""
    from ..pointwise import selection

    input, *rest = args
    check_tensor(input, name, "input")
    if isinstance(dim, Tensor):
        dim = dim.__index__()
    rest = [*rest, *(value for value in (dim, other) if value is not None)]
    if not rest:
        if keepdim:
            raise ArgumentTypeError(
                f"{name}: keepdim without a dim", operands={"input": input}, fix=f"name a dim, or use a{name}"
            )
        _check_not_empty(name, input)
        return _max_all(input) if name == "max" else _min_all(input)
    if isinstance(rest[0], Tensor):
        pair: Tensor = selection.maximum(input, rest[0]) if name == "max" else selection.minimum(input, rest[0])
        return pair
    if len(rest) > 2 or (len(rest) == 2 and not isinstance(rest[1], bool)):
        raise ArgumentTypeError(
            f"{name}: the arguments {tuple(rest)} are neither (dim), (dim, keepdim) nor another tensor",
            operands={"input": input},
            fix=f"write {name}(), {name}(dim, keepdim) or {name}(other)",
        )
    keepdim = keepdim or (len(rest) == 2 and rest[1])
    at = normalize_dim(rest[0], input.ndim, name)
    made = getattr(return_types, name)
    op = _max_dim if name == "max" else _min_dim
    if input.ndim:
        return made(*op(input, at, keepdim))
    values, indices = op(input.reshape(1), 0, False)
    return made(values, indices)


@function()
def max(
    input: Tensor,
    *args: Any,
    dim: int | None = None,
    keepdim: bool = False,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The largest element: ``max(x)`` of all, ``max(x, dim)`` with its position along *dim*, ``max(x, other)`` of each
    pair.

    nan is larger than any number. ``max(x, dim, keepdim)`` gives a named tuple (values, indices), the first position of
    several equal ones, which alone gets the gradient; ``max(x)`` shares it evenly; ``max(x, other)`` is `maximum`.
    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> x = polyad.tensor([[1, 5], [4, 2]])
    >>> polyad.max(x)
    tensor(5)
    >>> x.max(dim=1).indices
    tensor([1, 0])
    """
    return _extreme("max", (input, *args), dim, keepdim, other)


@function()
def min(
    input: Tensor,
    *args: Any,
    dim: int | None = None,
    keepdim: bool = False,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The smallest element: ``min(x)`` of all, ``min(x, dim)`` with its position along *dim*, ``min(x, other)`` of each
    pair.

    nan is smaller than any number here. ``min(x, dim, keepdim)`` gives a named tuple (values, indices), the first
    position of several equal ones, which alone gets the gradient; ``min(x)`` shares it evenly; ``min(x, other)`` is
    `minimum`. Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> x = polyad.tensor([[1, 5], [4, 2]])
    >>> polyad.min(x)
    tensor(1)
    >>> x.min(dim=1).values
    tensor([1, 2])
    """
    return _extreme("min", (input, *args), dim, keepdim, other)
