"""Collective operations that have gradients: each returns new tensors, and its backward is a collective, too.

All processes must call backward, in the same order, as they called the operations. The gradient of a sum over processes
is the sum of the gradients of all processes; what was sent somewhere is sent back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.function import Function
from ...functions import empty, empty_like, stack, zeros_like
from ...tensor import Tensor
from .. import collectives
from ..groups import get_rank, get_world_size, resolve
from ..reduce_ops import ReduceOp

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, op: ReduceOp, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, _AllReduce.apply(ctx.group, ctx.op, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, src: int, tensor: Tensor) -> Tensor:
        ctx.group, ctx.src = group, src
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        summed = _Reduce.apply(ctx.group, ctx.src, ReduceOp.SUM, grad)
        return None, None, summed if get_rank() == ctx.src else zeros_like(grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, dst: int, op: ReduceOp, tensor: Tensor) -> Tensor:
        ctx.group, ctx.dst = group, dst
        result = tensor.clone()
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, _Broadcast.apply(ctx.group, ctx.dst, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group = group
        result = empty(get_world_size(group), *tensor.shape, dtype=tensor.dtype, device=tensor.device)
        collectives.all_gather_into_tensor(result, tensor, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, _ReduceScatter.apply(ctx.group, ReduceOp.SUM, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, op: ReduceOp, rows: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        result = empty(rows.shape[1:], dtype=rows.dtype, device=rows.device)
        collectives.reduce_scatter_tensor(result, rows, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        gathered = _AllGather.apply(ctx.group, grad)
        return None, None, gathered / get_world_size(ctx.group) if ctx.op is ReduceOp.AVG else gathered


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, like: Tensor, sent: Any, received: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.sizes, ctx.like = group, (sent, received), tensor.detach()
        result = empty_like(like)
        collectives.all_to_all_single(result, tensor, received, sent, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        sent, received = ctx.sizes
        return None, None, None, None, _AllToAll.apply(ctx.group, ctx.like, received, sent, grad)


def _applied(function: type[Function], *args: Any) -> Tensor:
    result: Tensor = function.apply(*args)
    return result


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of *tensor* of all processes, in all of them. Only SUM and AVG have a gradient that is right."""
    return _applied(_AllReduce, group, op, tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """*tensor* of process *src*, in all processes."""
    return _applied(_Broadcast, group, src, tensor)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of *tensor* of all processes, in process *dst*."""
    return _applied(_Reduce, group, dst, op, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """*tensor* of each process, in all processes."""
    return tuple(_applied(_AllGather, group, tensor).unbind())


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """*tensor* of each process, in process *dst*; zeros in the others."""
    rows = all_gather(tensor, group)
    return rows if get_rank() == dst else tuple(row * 0 for row in rows)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """``tensors[i]`` of process *src*, in process i; the others pass tensors of the same shape."""
    members = resolve(group, "scatter")
    return broadcast(stack(list(tensors)), src, group)[0 if members is None else members.rank()]


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The reduction of ``input_list[i]`` of all processes, in process i; *output* says shape and dtype."""
    return _applied(_ReduceScatter, group, op, stack(list(input_list)))


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Any = None,
) -> Tensor:  # fmt: skip
    """Part i of *input* of process j becomes part j of the result in process i; *output* says shape and dtype."""
    return _applied(_AllToAll, group, output, input_split_sizes, output_split_sizes, input)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """``input_tensor_list[i]`` of process j becomes number j of the results in process i."""
    from ...functions import cat

    sent, received = [[one.numel() for one in each] for each in (input_tensor_list, output_tensor_list)]
    flat = cat([one.reshape(-1) for one in input_tensor_list])
    like = cat([one.detach().reshape(-1) for one in output_tensor_list])
    parts = all_to_all_single(like, flat, received, sent, group).split(received)
    return tuple(part.view(one.shape) for part, one in zip(parts, output_tensor_list))
