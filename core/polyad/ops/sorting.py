"""Sorting and what follows from it: ranks, largest elements, medians, distinct elements.

Sorting is always stable and counts nan as the largest element, in both directions, so results are the same on every
backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import return_types
from ..backend.interface import Signature
from ..dispatch.op import composite, function, gradient, primitive
from ..dispatch.promotion import Typing, first, not_complex
from ..dtypes import int64
from ..errors import ArgumentTypeError, NotSupported, ShapeError
from ..layout import Shape, normalize_dim
from ..tensor import Tensor, check_tensor
from .reduction import _argmax, evenly, placed
from .selection import _where
from .slicing import _select, _slice


def _with_positions(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype, int64))


def _both(shape: Shape, dim: int, descending: bool) -> tuple[Shape, Shape]:
    return shape, shape


@primitive(dtype=not_complex("sort", _with_positions), shape=_both, outputs=("values", "indices"), method=False)
def _sort(input: Tensor, dim: int, descending: bool) -> Any:
    """The elements in order along *dim* and where each was; equal ones keep their order, nan is largest."""


gradient(_sort, input=lambda g, input_shape, dim, indices: placed(g, input_shape, dim, True, indices))


@function()
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None) -> Any:
    """The elements in order along *dim*, with where each was: a named tuple (values, indices).

    Always stable, whatever *stable* says; nan is larger than any number. Raises IndexError for a dim out of range,
    RuntimeError for complex tensors.

    >>> import polyad
    >>> values, indices = polyad.sort(polyad.tensor([3, 1, 2]), descending=True)
    >>> values, indices
    (tensor([3, 2, 1]), tensor([0, 2, 1]))
    """
    check_tensor(input, "sort", "input")
    at = normalize_dim(dim, input.ndim, "sort")
    if input.ndim:
        return return_types.sort(*_sort(input, at, bool(descending)))
    values, indices = _sort(input.reshape(1), 0, bool(descending))
    return return_types.sort(values.reshape(()), indices.reshape(()))


@function()
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions that put the elements in order along *dim*; see `sort`.

    >>> import polyad
    >>> polyad.argsort(polyad.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    indices: Tensor = sort(check_tensor(input, "argsort", "input"), dim, descending).indices
    return indices


def _topk_shape(shape: Shape, k: int, dim: int, largest: bool) -> tuple[Shape, Shape]:
    made = (*shape[:dim], k, *shape[dim + 1 :])
    return made, made


@composite(dtype=not_complex("topk", _with_positions), shape=_topk_shape, outputs=("values", "indices"), method=False)
def _topk(input: Tensor, k: int, dim: int, largest: bool) -> Any:
    """The *k* largest or smallest elements along *dim* in order, and where they are; the first of equal ones."""
    values, indices = _sort(input, dim, largest)
    return _slice(values, dim, 0, k, 1).clone(), _slice(indices, dim, 0, k, 1).clone()


gradient(_topk, input=lambda g, input_shape, dim, indices: placed(g, input_shape, dim, True, indices))


@function()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The *k* largest (or smallest) elements along *dim*, always in order, with where they are: (values, indices).

    Of equal elements the first are taken; nan is largest. Raises RuntimeError for a k that the dimension has not.

    >>> import polyad
    >>> polyad.topk(polyad.tensor([1, 4, 3]), 2).indices
    tensor([1, 2])
    """
    check_tensor(input, "topk", "input")
    at = normalize_dim(dim, input.ndim, "topk")
    count = _rank("topk", input, k, at, 0)
    if input.ndim:
        return return_types.topk(*_topk(input, count, at, bool(largest)))
    values, indices = _topk(input.reshape(1), count, 0, bool(largest))
    return return_types.topk(values.reshape(()), indices.reshape(())) if count else return_types.topk(values, indices)


def _rank(op: str, input: Tensor, k: Any, dim: int, least: int) -> int:
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise ArgumentTypeError(f"{op}: k is {k!r}, not an int", operands={"input": input}, fix="pass an int")
    size = input._array.shape[dim] if input.ndim else 1
    count = int(k.__index__())
    if not least <= count <= size:
        raise ShapeError(
            f"{op}: k is {count}, but dimension {dim} has {size} elements",
            operands={"input": input},
            fix=f"choose k in [{least}, {size}]",
        )
    return count


@function()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The *k*-th smallest element along *dim*, counted from 1, with where it is: (values, indices).

    Raises RuntimeError for a k that the dimension has not.

    >>> import polyad
    >>> polyad.kthvalue(polyad.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    check_tensor(input, "kthvalue", "input")
    at = normalize_dim(dim, input.ndim, "kthvalue")
    rank = _rank("kthvalue", input, k, at, 1)
    values, indices = _sort(input if input.ndim else input.reshape(1), at, False)
    return return_types.kthvalue(
        *[_at_rank(one, rank - 1, at, keepdim and input.ndim > 0) for one in (values, indices)]
    )


def _at_rank(sorted_: Tensor, rank: int, dim: int, keepdim: bool) -> Tensor:
    return (_slice(sorted_, dim, rank, 1, 1) if keepdim else _select(sorted_, dim, rank)).clone()


def _scalar(shape: Shape) -> Shape:
    return ()


@composite(dtype=not_complex("median", first), shape=_scalar, method=False)
def _median(input: Tensor) -> Tensor:
    """The lower median of all elements, nan if one is nan."""
    values, _ = _sort(input.reshape(-1), 0, False)
    return _median_of(values, 0)


def _median_of(values: Tensor, dim: int) -> Tensor:
    size = values._array.shape[dim]
    middle, last = _select(values, dim, (size - 1) // 2), _select(values, dim, size - 1)
    return _where(last != last, last, middle)


gradient(_median, input=lambda g, input, out: evenly(g, input, tuple(range(input.ndim)), False, out))


@function()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower of the two middle elements: of all, or along *dim* with where it is, as (values, indices). nan if one
    is nan.

    Raises IndexError for a dim out of range or without elements.

    >>> import polyad
    >>> polyad.median(polyad.tensor([4, 1, 3, 2]))
    tensor(2)
    """
    check_tensor(input, "median", "input")
    if dim is None:
        if not input.numel():
            from .creation import full

            return full((), float("nan"), dtype=input.dtype, device=input.device)
        return _median(input)
    at = normalize_dim(dim, input.ndim, "median")
    if not input.ndim:
        return return_types.median(*[one.reshape(()) for one in median(input.reshape(1), 0)])
    size = input._array.shape[at]
    _rank("median", input, 1, at, 1)
    values, indices = _sort(input, at, False)
    last = _select(values, at, size - 1)
    # nan sorts last; argmax finds the first one.
    chosen = _where(last != last, _argmax(input, at, False), _select(indices, at, (size - 1) // 2))
    results = (_median_of(values, at), chosen)
    return return_types.median(*[one.unsqueeze(at) if keepdim else one for one in results])


@function()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in rising order; on demand also which of them each element is, and how often each occurs.

    nan differs from itself. The result has no gradient. Raises NotImplementedError for a *dim*: only elements are
    compared, not slices.

    >>> import polyad
    >>> polyad.unique(polyad.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    from .creation import _full
    from .cumulative import _cumsum
    from .indexing import _index_select, _nonzero, _scatter
    from .joining import _cat

    check_tensor(input, "unique", "input")
    if dim is not None:
        raise NotSupported("unique: dim is not supported", operands={"input": input}, fix="leave dim out")
    device, size = input.device, input.numel()
    values, indices = _sort(input.detach().reshape(-1), 0, False)
    from ..dtypes import bool_

    new = _full((min(size, 1),), True, bool_, device)
    if size > 1:
        new = _cat([new, _slice(values, 0, 1, size - 1, 1) != _slice(values, 0, 0, size - 1, 1)], 0)
    firsts = _nonzero(new).reshape(-1)
    results = [_index_select(values, firsts, 0)]
    if return_inverse:
        ranks = _cumsum(new, 0) - 1
        spread = _full((size,), 0, int64, device)
        results.append(_scatter(spread, indices, ranks, 0).reshape(input.shape))
    if return_counts:
        ends = _cat([firsts, _full((1,), size, int64, device)], 0)
        count = firsts.numel()
        results.append(_slice(ends, 0, 1, count, 1) - _slice(ends, 0, 0, count, 1))
    return results[0] if len(results) == 1 else tuple(results)
