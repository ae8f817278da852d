"""Reductions over axes, which are an attribute in older operator sets and an input in newer ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polyad
from polyad import Tensor

from ..operators import Compute, Node, operator

__all__: list[str] = []

Reduction = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def _reduce_extreme(x: Tensor, dims: tuple[int, ...], keep: bool, largest: bool) -> Tensor:
    """The largest or smallest element; of none, the number that every other one replaces."""
    function: Any = polyad.amax if largest else polyad.amin
    if any(x.shape[dim] == 0 for dim in dims):
        if x.dtype.is_floating_point:
            fill: Any = float("-inf") if largest else float("inf")
        elif x.dtype is polyad.bool:
            fill = not largest
        else:
            fill = polyad.iinfo(x.dtype).min if largest else polyad.iinfo(x.dtype).max
        return x.to(polyad.float32).sum(dims, keepdim=keep).mul(0).add(fill).to(x.dtype)
    return function(x, dims, keep)


def _reduce_product(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    for dim in sorted(dims, reverse=True):
        x = x.prod(dim, keepdim=keep, dtype=x.dtype)
    return x


def _reduce_sum(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    return x.sum(dims, keepdim=keep, dtype=x.dtype)


def _reduce_mean(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    if x.dtype.is_floating_point:
        return x.mean(dims, keepdim=keep)
    return x.to(polyad.float64).mean(dims, keepdim=keep).trunc().to(x.dtype)


def _root_of_squares(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    found = (x * x).sum(dims, keepdim=keep)
    return found.sqrt() if x.dtype.is_floating_point else found.to(polyad.float64).sqrt().to(x.dtype)


def _log_sum(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    return x.sum(dims, keepdim=keep).log()


def _log_sum_exp(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    if any(x.shape[dim] == 0 for dim in dims):
        return x.exp().sum(dims, keepdim=keep).log()
    return polyad.logsumexp(x, dims, keep)


REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _reduce_sum,
    "ReduceMean": _reduce_mean,
    "ReduceProd": _reduce_product,
    "ReduceMax": lambda x, dims, keep: _reduce_extreme(x, dims, keep, True),
    "ReduceMin": lambda x, dims, keep: _reduce_extreme(x, dims, keep, False),
    "ReduceL1": lambda x, dims, keep: _reduce_sum(x.abs(), dims, keep),
    "ReduceL2": _root_of_squares,
    "ReduceSumSquare": lambda x, dims, keep: _reduce_sum(x * x, dims, keep),
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
}


@operator(*REDUCTIONS, host=(1,))
def reduce(node: Node) -> Compute:
    function = REDUCTIONS[node.proto.op_type]
    fixed, keep = node.integers("axes"), bool(node.integer("keepdims", 1))
    nothing = bool(node.integer("noop_with_empty_axes", 0))

    def call(x: Tensor, axes: Any = fixed) -> Tensor:
        if axes:
            return function(x, tuple(axes), keep)
        if nothing:
            return function(x.unsqueeze(0), (0,), False)
        return function(x, tuple(range(x.ndim)), keep) if x.ndim else function(x.reshape(1), (0,), False)

    return call


@operator("ArgMax", "ArgMin")
def arg(node: Node) -> Compute:
    function: Any = polyad.argmax if node.proto.op_type == "ArgMax" else polyad.argmin
    axis, keep, last = node.integer("axis", 0), bool(node.integer("keepdims", 1)), node.integer("select_last_index", 0)

    def call(x: Tensor) -> Tensor:
        if last:
            return x.shape[axis] - 1 - function(x.flip(axis), axis, keep)
        return function(x, axis, keep)

    return call
