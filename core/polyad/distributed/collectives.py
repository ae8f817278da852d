"""Operations of all processes of a group: each is called by all members, in the same order.

With ``async_op=True`` they return a `work.Work` at once, and the results are there after its ``wait()``; otherwise they
wait and return None. A process that is no member of *group* gets None and takes no part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..errors import ArgumentError, ShapeError, wrong_type
from ..tensor import Tensor
from .buffers import Outgoing, Receiving, check_alike, check_count, check_tensor, check_tensors
from .engine import Operation
from .errors import DistBackendError
from .groups import ProcessGroup, get_group_rank, resolve, store_of
from .reduce_ops import ReduceOp
from .work import Work

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "monitored_barrier",
    "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def start(
    group: ProcessGroup,
    operations: Operation | list[Operation],
    async_op: bool,
    finish: Callable[[], None] | None = None,
    keep: Any = None,
    result: Any = None,
) -> Work | None:
    """The work of operations that an engine has started, or None when they have ended."""
    listed = operations if isinstance(operations, list) else [operations]
    work = Work(group, listed, finish, keep, result)
    if async_op:
        group.unfinished.add(work)
        return work
    work.wait()
    return None


def _op(function: str, op: Any) -> ReduceOp:
    if not isinstance(op, ReduceOp):
        raise wrong_type(function, "op", op, "a ReduceOp")
    return op


def root_of(
    function: str, group: ProcessGroup, rank: int | None, group_rank: int | None, name: str, default: int | None = None
) -> int:
    """The rank in *group* of the process that two arguments name, *rank* in the world or *group_rank*; *default* if
    both are None.
    """
    if rank is None and group_rank is None:
        group_rank = default
    if group_rank is not None:
        if rank is not None:
            raise ArgumentError(f"{function}: {name} and group_{name} are two ways to say the same", fix="pass one")
        if not 0 <= group_rank < group.size():
            raise ArgumentError(
                f"{function}: group_{name} {group_rank} is no rank of a group of {group.size()}", fix="pass one below"
            )
        return group_rank
    if rank is None:
        raise ArgumentError(f"{function}: {name} is needed", fix=f"pass {name}=, the rank of a process")
    return get_group_rank(group, rank)


# --------------------------------------------------------------------------------------------------------- one tensor


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce *tensor* of all processes, element by element; all get the result, in place.

    Args:
        tensor: of one shape and dtype in all processes.
        op: sum, mean, product, least, greatest, or the bits.
    """
    members = resolve(group, "all_reduce")
    if members is None:
        return None
    check_tensor("all_reduce", "tensor", tensor)
    members.begin("all_reduce", tensor.dtype, tensor.shape)
    held = Receiving(members, [tensor], sends=True)
    operation = members.engine.all_reduce(held.memory, _op("all_reduce", op))
    return start(members, operation, async_op, held.finish, held, [tensor])


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all processes the elements of *tensor* of process *src*, in place."""
    members = resolve(group, "broadcast")
    if members is None:
        return None
    check_tensor("broadcast", "tensor", tensor)
    root = root_of("broadcast", members, src, group_src, "src")
    members.begin("broadcast", tensor.dtype, tensor.shape)
    held = Receiving(members, [tensor], sends=True)
    return start(members, members.engine.broadcast(held.memory, root), async_op, held.finish, held, [tensor])


def reduce(
    tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Reduce *tensor* of all processes; process *dst* gets the result, in place."""
    members = resolve(group, "reduce")
    if members is None:
        return None
    check_tensor("reduce", "tensor", tensor)
    root = root_of("reduce", members, dst, group_dst, "dst")
    members.begin("reduce", tensor.dtype, tensor.shape)
    held = Receiving(members, [tensor], sends=True)
    finish = held.finish if members.rank() == root else None
    operation = members.engine.reduce(held.memory, root, _op("reduce", op))
    return start(members, operation, async_op, finish, held, [tensor])


# ------------------------------------------------------------------------------------------------------------- gather


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Put *tensor* of process i into ``tensor_list[i]``, in all processes."""
    members = resolve(group, "all_gather")
    if members is None:
        return None
    outputs = _parts("all_gather", "tensor_list", tensor_list, members, tensor)
    members.begin("all_gather", tensor.dtype, tensor.shape)
    sent, held = Outgoing(members, [tensor]), Receiving(members, outputs)
    operation = members.engine.all_gather(held.memory, sent.memory)
    return start(members, operation, async_op, held.finish, (sent, held), outputs)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Put *input_tensor* of all processes one after the other into *output_tensor*, in all processes.

    Args:
        output_tensor: as many elements as all inputs together: (n * a, ...) or (n, a, ...) for inputs (a, ...).
    """
    members = resolve(group, "all_gather_into_tensor")
    if members is None:
        return None
    check_tensor("all_gather_into_tensor", "output_tensor", output_tensor)
    check_tensor("all_gather_into_tensor", "input_tensor", input_tensor)
    check_alike("all_gather_into_tensor", output_tensor=[output_tensor], input_tensor=[input_tensor])
    count = members.size() * input_tensor.numel()
    check_count("all_gather_into_tensor", "output_tensor", output_tensor, count, "the inputs of all processes")
    members.begin("all_gather_into_tensor", input_tensor.dtype, input_tensor.shape)
    sent, held = Outgoing(members, [input_tensor]), Receiving(members, [output_tensor])
    operation = members.engine.all_gather(held.memory, sent.memory)
    return start(members, operation, async_op, held.finish, (sent, held), [output_tensor])


all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Put *tensor* of process i into ``gather_list[i]`` of process *dst* (0 by default), which alone passes it."""
    members = resolve(group, "gather")
    if members is None:
        return None
    check_tensor("gather", "tensor", tensor)
    root = root_of("gather", members, dst, group_dst, "dst", 0)
    here = members.rank() == root
    if here != bool(gather_list):
        raise ArgumentError(
            f"gather: gather_list must be given by process dst and by no other; this is rank {members.rank()}",
            fix="pass it where rank == dst",
        )
    members.begin("gather", tensor.dtype, tensor.shape)
    sent = Outgoing(members, [tensor])
    held = Receiving(members, _parts("gather", "gather_list", gather_list, members, tensor)) if here else None
    operation = members.engine.gather(None if held is None else held.memory, sent.memory, root)
    return start(members, operation, async_op, None if held is None else held.finish, (sent, held), gather_list)


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Put ``scatter_list[i]`` of process *src* (0 by default), which alone passes it, into *tensor* of process i."""
    members = resolve(group, "scatter")
    if members is None:
        return None
    check_tensor("scatter", "tensor", tensor)
    root = root_of("scatter", members, src, group_src, "src", 0)
    here = members.rank() == root
    if here != bool(scatter_list):
        raise ArgumentError(
            f"scatter: scatter_list must be given by process src and by no other; this is rank {members.rank()}",
            fix="pass it where rank == src",
        )
    members.begin("scatter", tensor.dtype, tensor.shape)
    sent = Outgoing(members, _parts("scatter", "scatter_list", scatter_list, members, tensor)) if here else None
    held = Receiving(members, [tensor])
    operation = members.engine.scatter(held.memory, None if sent is None else sent.memory, root)
    return start(members, operation, async_op, held.finish, (sent, held), [tensor])


def _parts(function: str, name: str, tensors: Any, group: ProcessGroup, like: Tensor) -> list[Tensor]:
    """A list of one tensor a process, each as *like*."""
    listed = check_tensors(function, name, tensors)
    check_tensor(function, "tensor", like)
    if len(listed) != group.size():
        raise ArgumentError(
            f"{function}: {name} has {len(listed)} tensors, and there are {group.size()} processes",
            operands={"tensor": like},
            fix=f"pass a tensor for each of the {group.size()} processes",
        )
    check_alike(function, **{name: listed, "tensor": [like]})
    for number, tensor in enumerate(listed):
        if tensor.shape != like.shape:
            raise ShapeError(
                f"{function}: {name}[{number}] {tuple(tensor.shape)} and tensor {tuple(like.shape)} differ in shape",
                operands={f"{name}[{number}]": tensor, "tensor": like},
                fix=f"make {name}[{number}] {tuple(like.shape)}",
            )
    return listed


# ------------------------------------------------------------------------------------------------ reduce and scatter


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce ``input_list[i]`` of all processes into *output* of process i."""
    members = resolve(group, "reduce_scatter")
    if members is None:
        return None
    check_tensor("reduce_scatter", "output", output)
    inputs = _parts("reduce_scatter", "input_list", input_list, members, output)
    return _reduce_scatter(members, "reduce_scatter", output, inputs, op, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce *input* of all processes and put the i-th of its equal parts into *output* of process i."""
    members = resolve(group, "reduce_scatter_tensor")
    if members is None:
        return None
    for name, tensor in (("output", output), ("input", input)):
        check_tensor("reduce_scatter_tensor", name, tensor)
    check_alike("reduce_scatter_tensor", output=[output], input=[input])
    check_count("reduce_scatter_tensor", "input", input, members.size() * output.numel(), "one part for each process")
    return _reduce_scatter(members, "reduce_scatter_tensor", output, [input], op, async_op)


reduce_scatter_single = reduce_scatter_tensor


def _reduce_scatter(
    group: ProcessGroup, name: str, output: Tensor, inputs: list[Tensor], op: ReduceOp, async_op: bool
) -> Work | None:
    group.begin(name, output.dtype, output.shape)
    sent, held = Outgoing(group, inputs), Receiving(group, [output])
    operation = group.engine.reduce_scatter(held.memory, sent.memory, _op(name, op))
    return start(group, operation, async_op, held.finish, (sent, held), [output])


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send process i the i-th part of *input*; what it sends becomes the i-th part of *output*.

    Args:
        output_split_sizes, input_split_sizes: the lengths of the parts along dimension 0; equal parts by default.
    """
    members = resolve(group, "all_to_all_single")
    if members is None:
        return None
    sizes = []
    for name, tensor, split in (
        ("output", output, output_split_sizes), ("input", input, input_split_sizes)
    ):  # fmt: skip
        check_tensor("all_to_all_single", name, tensor)
        sizes.append(_sizes(name, tensor, split, members.size()))
    check_alike("all_to_all_single", output=[output], input=[input])
    members.begin("all_to_all_single", input.dtype, input.shape)
    sent, held = Outgoing(members, [input]), Receiving(members, [output])
    operation = members.engine.all_to_all(held.memory, sent.memory, *sizes)
    return start(members, operation, async_op, held.finish, (sent, held), [output])


def _sizes(name: str, tensor: Tensor, split: Sequence[int] | None, count: int) -> list[int]:
    """Elements of each part of *tensor*."""
    length = tensor.shape[0] if tensor.ndim else 1
    parts = [length // count] * count if not split else list(split)
    if len(parts) != count or sum(parts) != length:
        raise ShapeError(
            f"all_to_all_single: {name} of length {length} is not split into {count} parts by {split or 'equal parts'}",
            operands={name: tensor},
            fix=f"pass {name}_split_sizes: {count} lengths, {length} together",
        )
    row = tensor.numel() // length if length else 0
    return [part * row for part in parts]


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Send ``input_tensor_list[i]`` to process i, whose tensor for this process comes to ``output_tensor_list[i]``."""
    members = resolve(group, "all_to_all")
    if members is None:
        return None
    outputs = check_tensors("all_to_all", "output_tensor_list", output_tensor_list)
    inputs = check_tensors("all_to_all", "input_tensor_list", input_tensor_list)
    if len(outputs) != members.size() or len(inputs) != members.size():
        raise ArgumentError(
            f"all_to_all: {len(outputs)} outputs and {len(inputs)} inputs for {members.size()} processes",
            fix="pass a tensor for each process in both lists",
        )
    check_alike("all_to_all", output_tensor_list=outputs, input_tensor_list=inputs)
    members.begin("all_to_all", inputs[0].dtype, inputs[0].shape)
    sent, held = Outgoing(members, inputs), Receiving(members, outputs)
    operation = members.engine.all_to_all(
        held.memory, sent.memory, [one.numel() for one in outputs], [one.numel() for one in inputs]
    )
    return start(members, operation, async_op, held.finish, (sent, held), outputs)


# ----------------------------------------------------------------------------------------------------- several tensors


def all_reduce_coalesced(
    tensors: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors of one dtype in one operation."""
    members = resolve(group, "all_reduce_coalesced")
    if members is None:
        return None
    listed = check_tensors("all_reduce_coalesced", "tensors", tensors)
    check_alike("all_reduce_coalesced", tensors=listed)
    held = Receiving(members, listed, sends=True)
    members.begin("all_reduce_coalesced", held.memory.dtype, held.memory.shape)
    operation = members.engine.all_reduce(held.memory, _op("all_reduce_coalesced", op))
    return start(members, operation, async_op, held.finish, held, listed)


def broadcast_coalesced(tensors: list[Tensor], group: ProcessGroup, root: int = 0) -> None:
    """Give all processes the elements of *tensors*, of one dtype, of number *root* of *group* in one operation."""
    held = Receiving(group, tensors, sends=True)
    group.begin("broadcast_coalesced", held.memory.dtype, held.memory.shape)
    start(group, group.engine.broadcast(held.memory, root), False, held.finish, held)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_gather` of several tensors: ``output_tensor_lists[i][j]`` is the j-th input of process i."""
    members = resolve(group, "all_gather_coalesced")
    if members is None:
        return None
    works = [
        all_gather([row[number] for row in output_tensor_lists], one, group, True)
        for number, one in enumerate(check_tensors("all_gather_coalesced", "input_tensor_list", input_tensor_list))
    ]
    return together(members, [work for work in works if work is not None], async_op)


def together(group: ProcessGroup, works: list[Work], async_op: bool = True) -> Work | None:
    """One work for several."""

    def finish() -> None:
        for work in works:
            work.wait()

    return start(group, [each for work in works for each in work._operations], async_op, finish, works)


# -------------------------------------------------------------------------------------------------------------- barrier


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all processes of *group* have come to this call, at most *timeout* or the group's."""
    members = resolve(group, "barrier")
    if members is None:
        return None
    members.begin("barrier")
    work = Work(members, [members.engine.barrier()])
    if async_op:
        members.unfinished.add(work)
        return work
    work.wait(timeout)
    return None


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """As `barrier`; process 0 of the group says which processes did not come within *timeout*.

    Raises:
        RuntimeError: somebody did not come: in process 0 it names the first, or all with *wait_all_ranks*.
    """
    members = resolve(group, "monitored_barrier")
    if members is None:
        return
    members.begin("monitored_barrier")
    members.monitored += 1
    seconds = members.seconds if timeout is None else timeout.total_seconds()
    store, name = store_of(members), f"monitored {members.group_name} {members.monitored}"
    store.set(f"{name}/{members.rank()}", "here")
    if members.rank() == 0:
        missing = list(range(1, members.size()))
        end = time.monotonic() + seconds
        while missing and time.monotonic() < end:
            missing = [rank for rank in missing if not store.check([f"{name}/{rank}"])]
            time.sleep(0.01 if missing else 0)
        shown = [members.global_rank(rank) for rank in (missing if wait_all_ranks else missing[:1])]
        said = f"Rank {', '.join(map(str, shown))} failed to pass monitoredBarrier in {seconds * 1000:.0f} ms"
        store.set(name, said if missing else "")
        said = said if missing else ""
    else:
        store.wait([name], timedelta(seconds=seconds + 10))
        said = store.get(name).decode()
    if said:
        raise DistBackendError(f"monitored_barrier: {said}", fix="see what these processes do")
