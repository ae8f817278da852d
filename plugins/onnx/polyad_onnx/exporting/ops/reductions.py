"""Reductions and running sums."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates
from ..translating import unsizable


def reduced(to: Any, operator: str, input: Any, dims: tuple[int, ...], keepdim: bool, axes_since: int = 18) -> Any:
    """A reduction over *dims*, which are an input of the operator from opset *axes_since* on, else an attribute."""
    if not dims:
        return to.op("Identity", input)
    if to.opset >= axes_since:
        return to.op(operator, input, to.ints(*dims), keepdims=int(keepdim))
    return to.op(operator, input, axes=list(dims), keepdims=int(keepdim))


@translates("sum")
def sum(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """A sum; of integers and truths in int64."""
    return reduced(to, "ReduceSum", to.cast(input, to.result.dtype), dims, keepdim, axes_since=13)


@translates("mean")
def mean(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """An average; that of nothing is nan."""
    if 0 in [to.sizes_of(to.node.args[0])[dim] for dim in dims]:
        return to.op("Div", sum(to, input, dims, keepdim), to.constant(0, to.result.dtype))
    return reduced(to, "ReduceMean", input, dims, keepdim)


@translates("prod")
def prod(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """A product; of integers and truths in int64."""
    return reduced(to, "ReduceProd", to.cast(input, to.result.dtype), dims, keepdim)


@translates("amax")
def amax(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The largest element."""
    return _reduced_extreme(to, "ReduceMax", input, dims, keepdim)


@translates("amin")
def amin(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The smallest element."""
    return _reduced_extreme(to, "ReduceMin", input, dims, keepdim)


def _reduced_extreme(to: Any, operator: str, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    if to.result.dtype is torch.bool:
        return to.cast(reduced(to, operator, to.cast(input, torch.uint8), dims, keepdim), torch.bool)
    return reduced(to, operator, input, dims, keepdim)


@translates("any")
def any(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """Whether an element is not 0."""
    return _is_any(to, to.cast(input, torch.bool), dims, keepdim)


def _is_any(to: Any, truths: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    count = reduced(to, "ReduceSum", to.cast(truths, torch.int32), dims, keepdim, axes_since=13)
    return to.op("Greater", count, to.constant(0, torch.int32))


@translates("all")
def all(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """Whether no element is 0."""
    return to.op("Not", _is_any(to, to.op("Not", to.cast(input, torch.bool)), dims, keepdim))


@translates("argmax")
def argmax(to: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    """The place of the largest element."""
    return _place_of(to, "ArgMax", input, dim, keepdim)


@translates("argmin")
def argmin(to: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    """The place of the smallest element."""
    return _place_of(to, "ArgMin", input, dim, keepdim)


def _place_of(to: Any, operator: str, input: Any, dim: int | None, keepdim: bool) -> Any:
    if dim is not None:
        return to.op(operator, input, axis=dim, keepdims=int(keepdim))
    place = to.op(operator, to.op("Reshape", input, to.ints(-1)), axis=0, keepdims=0)
    return to.op("Reshape", place, to.ints(*[1] * len(to.result.sizes)), dtype=torch.int64) if keepdim else place


@translates("cumsum")
def cumsum(to: Any, input: Any, dim: int) -> Any:
    """Running sums."""
    return to.op("CumSum", to.cast(input, to.result.dtype), to.constant(dim, torch.int64))


@translates("cumprod")
def cumprod(to: Any, input: Any, dim: int) -> Any:
    """Running products, by doubling: each step multiplies by what is twice as far ahead."""
    value, size, rank = to.cast(input, to.result.dtype), to.result.sizes[dim], len(to.result.sizes)
    if not rank:
        return value
    if not isinstance(size, int):
        raise unsizable("cumprod", to.node)
    ahead, one = 1, to.constant(1, to.result.dtype)
    while ahead < size:
        pads = [0] * (2 * rank)
        pads[dim], pads[dim + rank] = ahead, -ahead
        value = to.op("Mul", value, to.op("Pad", value, to.ints(*pads), one))
        ahead *= 2
    return value


@translates("logsumexp")
def logsumexp(to: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The logarithm of a sum of exponentials."""
    return reduced(to, "ReduceLogSumExp", input, dims, keepdim)
