"""Running sums, products, extremes and sums of exponentials along a dimension.

What NumPy calls accumulate. Where no backend brings a kernel, the running extreme and log-sum-exp are computed by
doubling: after round k each element has taken in the 2**k elements up to itself (Hillis and Steele, "Data parallel
algorithms", 1986).

To add a running reduction: `_doubled` combines any associative function; declare a composite over it with a
gradient, and front it with a function that normalises *dim*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import DType, float32, int64
from ...base.shapes_and_strides import Shape, normalize_dim
from ...dispatch.forward import forward, linear_in
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, first, floating_only, not_complex, summed
from ...dispatch.structure import Last, Rowwise
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _arange, _full
from ..declaring.shape_rules import same
from ..indexing.gather_scatter import _gather, _scatter_add
from ..indexing.slicing import _slice
from ..pointwise.arithmetic import conjugate
from ..pointwise.maximum import maximum
from ..pointwise.where import _where
from ..shaping.flipping import _flip
from ..shaping.joining import _cat
from ..shaping.reshape import _expand, _reshape


@primitive(dtype=summed, structure=Rowwise("dim"), shape=same, method=False)
def _cumsum(input: Tensor, dim: int) -> Tensor:
    """The sum of all elements up to each, along *dim*; integers and bool in int64, float16 and bfloat16 in float32."""


gradient(_cumsum, input=lambda g, dim: _flip(_cumsum(_flip(g, (dim,)), dim), (dim,)))
linear_in(_cumsum, "input")


@function(inplace=True, dtype_of_out=True)
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of all elements up to each, along *dim*; integers add up in int64. *dtype* converts the elements first.

    Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.cumsum(polyad.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    check_tensor(input, "cumsum", "input")
    at = normalize_dim(dim, input.ndim, "cumsum")
    if dtype is not None:
        input = input.to(dtype)
    result: Tensor = _with_0d(_cumsum, input, at)
    return result if dtype is None else result.to(dtype)


@primitive(dtype=summed, structure=Rowwise("dim"), shape=same, method=False)
def _cumprod(input: Tensor, dim: int) -> Tensor:
    """The product of all elements up to each, along *dim*; integers and bool in int64, halves in float32."""


@composite(structure=Rowwise("dim"), shape=same, method=False)
def _cumprod_backward(grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """The product before each element, times what follows it: r[i] = g[i] + input[i + 1] * r[i + 1], solved without
    dividing by zeros.
    """
    following = _shifted(input, dim, 1, 0)
    result = grad
    step, size = 1, input._array.shape[dim]
    # Doubling: after each round r[i] has taken in twice as many of the terms that follow.
    while step < size:
        result = result + following * _shifted(result, dim, step, 0)
        following = following * _shifted(following, dim, step, 0)
        step *= 2
    return result * _cumprod(_shifted(input, dim, -1, 1), dim)


def _cumprod_forward(input: Tensor, input_t: Tensor, dim: int) -> Tensor:
    """The product rule along *dim*, by doubling: no division, so zeros are no matter."""

    def multiplied(a: Tensor, of_a: Tensor, b: Tensor, of_b: Tensor) -> tuple[Tensor, Tensor]:
        return a * b, of_a * b + a * of_b

    return _doubled((input, input_t), dim, multiplied)[1]


gradient(_cumprod, input=lambda g, input, dim: _cumprod_backward(g, conjugate(input), dim))
forward(_cumprod, _cumprod_forward)


def _shifted(input: Tensor, dim: int, by: int, value: float) -> Tensor:
    """``input[i + by]`` at i along *dim*, and *value* where there is no such element."""
    type_, shape = input._type, input._array.shape
    size = shape[dim]
    empty = min(abs(by), size)
    filled = _full((*shape[:dim], empty, *shape[dim + 1 :]), value, type_.dtype, type_.device)
    if by > 0:
        return _cat([_slice(input, dim, empty, size - empty, 1), filled], dim)
    return _cat([filled, _slice(input, dim, 0, size - empty, 1)], dim)


@function(inplace=True, dtype_of_out=True)
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements up to each, along *dim*; integers multiply in int64. *dtype* converts the elements
    first.

    Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.cumprod(polyad.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    check_tensor(input, "cumprod", "input")
    at = normalize_dim(dim, input.ndim, "cumprod")
    if dtype is not None:
        input = input.to(dtype)
    result: Tensor = _with_0d(_cumprod, input, at)
    return result if dtype is None else result.to(dtype)


@composite(structure=Rowwise(Last(1)), shape=same, method=False)
def _product_of_others(input: Tensor) -> Tensor:
    """For each element the product of all others along the last dimension, computed without dividing by zeros."""
    last = input.ndim - 1
    before = _cumprod(_shifted(input, last, -1, 1), last)
    after = _flip(_cumprod(_shifted(_flip(input, (last,)), last, -1, 1), last), (last,))
    return before * after


# ---------------------------------------------------------------------------------------------------- extremes


def _doubled(values: tuple[Tensor, ...], dim: int, combine: Callable[..., tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """Running results of ``combine(*earlier, *later)``, an associative function of tuples, along *dim*."""
    size, step = values[0]._array.shape[dim], 1
    while step < size:
        earlier = [_slice(value, dim, 0, size - step, 1) for value in values]
        later = [_slice(value, dim, step, size - step, 1) for value in values]
        combined = combine(*earlier, *later)
        values = tuple(
            [_cat([_slice(value, dim, 0, step, 1), new], dim) for value, new in zip(values, combined, strict=True)]
        )
        step *= 2
    return values


def _with_positions(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype, int64))


def _both(shape: Shape, dim: int) -> tuple[Shape, Shape]:
    return shape, shape


def _positions_along(input: Tensor, dim: int) -> Tensor:
    """int64 positions in *dim*, in the shape of *input*."""
    shape = input._array.shape
    line = _arange(0, 1, shape[dim], int64, input._type.device)
    return _expand(_reshape(line, (shape[dim], *[1] * (len(shape) - dim - 1))), shape)


def _running_extreme(input: Tensor, dim: int, wins: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, ...]:
    def later_wins(value: Tensor, at: Tensor, new: Tensor, new_at: Tensor) -> tuple[Tensor, Tensor]:
        # nan wins over every number, and the last of equals over those before it.
        takes = (new != new) | ((value == value) & wins(new, value))
        return _where(takes, new, value), _where(takes, new_at, at)

    values, indices = _doubled((input, _positions_along(input, dim)), dim, later_wins)
    return (values.clone(), indices.clone()) if input._array.shape[dim] < 2 else (values, indices)


@composite(
    dtype=not_complex("cummax", _with_positions),
    structure=Rowwise("dim"),
    shape=_both,
    outputs=("values", "indices"),
    method=False,
)
def _cummax(input: Tensor, dim: int) -> Any:
    """The largest element up to each along *dim* and where it is: the last of equal ones, the last nan if any is."""
    return _running_extreme(input, dim, lambda new, value: new >= value)


@composite(
    dtype=not_complex("cummin", _with_positions),
    structure=Rowwise("dim"),
    shape=_both,
    outputs=("values", "indices"),
    method=False,
)
def _cummin(input: Tensor, dim: int) -> Any:
    """The smallest element up to each along *dim* and where it is: the last of equal ones, the last nan if any is."""
    return _running_extreme(input, dim, lambda new, value: new <= value)


def _scatter_to_extremes(g: Any, input_shape: Shape, dim: int, indices: Tensor) -> Tensor:
    type_ = g[0]._type
    return _scatter_add(_full(input_shape, 0, type_.dtype, type_.device), indices, g[0], dim)


gradient(_cummax, input=_scatter_to_extremes)
forward(_cummax, lambda input_t, dim, indices: (_gather(input_t, indices, dim), None))
gradient(_cummin, input=_scatter_to_extremes)
forward(_cummin, lambda input_t, dim, indices: (_gather(input_t, indices, dim), None))


def _with_0d(op: Callable[..., Any], input: Tensor, at: int) -> Any:
    """``op(input, at)``, a 0-d tensor counting as a vector of one element."""
    if input._array.shape:
        return op(input, at)
    result = op(input.reshape(1), 0)
    return tuple([tensor.reshape(()) for tensor in result]) if isinstance(result, tuple) else result.reshape(())


@function()
def cummax(input: Tensor, dim: int, *, out: Any = None) -> return_types.cummax:
    """The largest element up to each along *dim*, with where it is: a named tuple (values, indices).

    Of equal elements the last counts; from the first nan on all are nan. The gradient goes to the elements that the
    indices name. Raises IndexError for a dim out of range, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.cummax(polyad.tensor([1, 3, 2, 3]), 0).indices
    tensor([0, 1, 1, 3])
    """
    at = normalize_dim(dim, check_tensor(input, "cummax", "input").ndim, "cummax")
    return return_types.cummax(*_with_0d(_cummax, input, at))


@function()
def cummin(input: Tensor, dim: int, *, out: Any = None) -> return_types.cummin:
    """The smallest element up to each along *dim*, with where it is: a named tuple (values, indices). See `cummax`.

    >>> import polyad
    >>> polyad.cummin(polyad.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    at = normalize_dim(dim, check_tensor(input, "cummin", "input").ndim, "cummin")
    return return_types.cummin(*_with_0d(_cummin, input, at))


# ---------------------------------------------------------------------------------------------------- log-sum-exp


def _log_add(a: Tensor, b: Tensor) -> tuple[Tensor]:
    """log(exp(a) + exp(b)), from the larger (by its real part) down."""
    top = maximum(a.real, b.real) if a._type.dtype.is_complex else maximum(a, b)
    top = _where(top.abs() == math.inf, 0.0, top)
    return (((a - top).exp() + (b - top).exp()).log() + top,)


@composite(dtype=floating_only("logcumsumexp", first), structure=Rowwise("dim"), shape=same, method=False)
def _logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log of the sum of exp of all elements up to each, along *dim*, without overflow."""
    dtype = input._type.dtype
    wide = input.to(float32) if dtype.itemsize == 2 else input
    (result,) = _doubled((wide,), dim, _log_add)
    return result.to(dtype) if result is not input else result.clone()


def _logcumsumexp_grad(g: Tensor, input: Tensor, dim: int, out: Tensor) -> Tensor:
    """exp(input[i]) times the sum of g[j] * exp(-out[j]) from i on. Each of these sums is kept as (factor, top), which
    means factor * exp(top) with the largest -out[j] as top, so that nothing overflows; and it stays linear in g,
    whose logarithm would have no derivative at 0.
    """
    wide = g.to(float32) if g._type.dtype.itemsize == 2 else g
    logs = -conjugate(out).to(wide._type.dtype)
    top = (logs.real if logs._type.dtype.is_complex else logs).detach()

    def added(a: Tensor, top_a: Tensor, b: Tensor, top_b: Tensor) -> tuple[Tensor, Tensor]:
        top = maximum(top_a, top_b)
        return a * _lowered(top_a, top) + b * _lowered(top_b, top), top

    factor = wide * _where(top.abs() == math.inf, 0.0, logs - top).exp()
    factor, top = (
        _flip(tensor, (dim,)) for tensor in _doubled((_flip(factor, (dim,)), _flip(top, (dim,))), dim, added)
    )
    # Before the first element that is not -inf, out is -inf and has no gradient, unless nothing comes in there.
    nothing = (factor == 0) & (top == math.inf)
    return factor * _where(nothing, 0.0, top + conjugate(input)).exp()


def _lowered(top: Tensor, to: Tensor) -> Tensor:
    """exp(top - to), 1 where both are the same infinity."""
    return _where(top == to, 0.0, top - to).exp()


def _logcumsumexp_forward(input: Tensor, input_t: Tensor, dim: int) -> Tensor:
    """The averages of the tangents up to each, weighted by exp(input): combined as the sums are, so nothing
    overflows.
    """

    def averaged(a: Tensor, of_a: Tensor, b: Tensor, of_b: Tensor) -> tuple[Tensor, Tensor]:
        (total,) = _log_add(a, b)
        return total, of_a * _where(a == -math.inf, 0.0, a - total).exp() * (a != -math.inf) + of_b * _where(
            b == -math.inf, 0.0, b - total
        ).exp() * (b != -math.inf)

    return _doubled((input, input_t), dim, averaged)[1]


gradient(_logcumsumexp, input=_logcumsumexp_grad)
forward(_logcumsumexp, _logcumsumexp_forward)


@function()
def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """log(exp(x[0]) + ... + exp(x[i])) at i along *dim*, computed so that nothing overflows.

    Raises IndexError for a dim out of range, RuntimeError for integers and bool.

    >>> import polyad
    >>> polyad.logcumsumexp(polyad.tensor([1000.0, 1000.0], dtype=polyad.float64), 0)
    tensor([1000.0000, 1000.6931], dtype=polyad.float64)
    """
    at = normalize_dim(dim, check_tensor(input, "logcumsumexp", "input").ndim, "logcumsumexp")
    result: Tensor = _with_0d(_logcumsumexp, input, at)
    return result
