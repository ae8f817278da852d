"""Running sums and products along a dimension."""

from __future__ import annotations

from ..dispatch.op import function, gradient, primitive
from ..dispatch.promotion import summed
from ..dtypes import DType
from ..layout import Shape, normalize_dim
from ..tensor import Tensor, check_tensor
from .arithmetic import conjugate
from .joining import _cat, _flip
from .slicing import _slice


def _same(shape: Shape, dim: int) -> Shape:
    return shape


@primitive(dtype=summed, shape=_same, method=False)
def _cumsum(input: Tensor, dim: int) -> Tensor:
    """The sum of all elements up to each, along *dim*; integers and bool in int64, float16 and bfloat16 in float32."""


gradient(_cumsum, input=lambda g, dim: _flip(_cumsum(_flip(g, (dim,)), dim), (dim,)))


@function(inplace=True)
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
    result = _cumsum(input, at) if input.ndim else _cumsum(input.reshape(1), 0).reshape(())
    return result if dtype is None else result.to(dtype)


@primitive(dtype=summed, shape=_same, method=False)
def _cumprod(input: Tensor, dim: int) -> Tensor:
    """The product of all elements up to each, along *dim*; integers and bool in int64, halves in float32."""


def _cumprod_grad(g: Tensor, input: Tensor, dim: int) -> Tensor:
    """The product before each element, times what follows it: r[i] = g[i] + input[i + 1] * r[i + 1], solved without
    dividing.
    """
    input = conjugate(input)
    following = _shifted(input, dim, 1, 0)
    result = g
    step, size = 1, input._array.shape[dim]
    # Doubling: after each round r[i] has taken in twice as many of the terms that follow.
    while step < size:
        result = result + following * _shifted(result, dim, step, 0)
        following = following * _shifted(following, dim, step, 0)
        step *= 2
    return result * _cumprod(_shifted(input, dim, -1, 1), dim)


gradient(_cumprod, input=_cumprod_grad)


def _shifted(input: Tensor, dim: int, by: int, value: float) -> Tensor:
    """``input[i + by]`` at i along *dim*, and *value* where there is no such element."""
    from .creation import _full

    kind, shape = input._type, input._array.shape
    size = shape[dim]
    empty = min(abs(by), size)
    filled = _full((*shape[:dim], empty, *shape[dim + 1 :]), value, kind.dtype, kind.device)
    if by > 0:
        return _cat([_slice(input, dim, empty, size - empty, 1), filled], dim)
    return _cat([filled, _slice(input, dim, 0, size - empty, 1)], dim)


@function(inplace=True)
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
    result = _cumprod(input, at) if input.ndim else _cumprod(input.reshape(1), 0).reshape(())
    return result if dtype is None else result.to(dtype)


def product_of_others(input: Tensor) -> Tensor:
    """For each element the product of all others along the last dimension."""
    last = input.ndim - 1
    before = _cumprod(_shifted(input, last, -1, 1), last)
    after = _flip(_cumprod(_shifted(_flip(input, (last,)), last, -1, 1), last), (last,))
    return before * after
