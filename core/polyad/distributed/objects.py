"""Collectives of Python objects, which are pickled: use them among processes that trust each other, as in PyTorch."""

from __future__ import annotations

import pickle
from typing import Any

from ..base.dtypes import int64, uint8
from ..errors import ArgumentError
from ..functions import cat, empty, tensor
from ..interop.numpy import frombuffer
from ..tensor import Tensor
from .collectives import all_gather, broadcast, gather, root_of, scatter
from .groups import ProcessGroup, resolve
from .point_to_point import recv, send

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def _bytes(value: Any) -> Tensor:
    return frombuffer(bytearray(pickle.dumps(value)), dtype=uint8)


def _object(data: Tensor, size: int) -> Any:
    return pickle.loads(data[:size].numpy().tobytes())


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put *obj* of process i into ``object_list[i]``, in all processes."""
    members = resolve(group, "all_gather_object")
    if members is None:
        return
    _check_length("all_gather_object", object_list, members)
    sizes, rows = _gathered(obj, members)
    object_list[:] = [_object(row, size) for row, size in zip(rows, sizes)]


def _check_length(function: str, values: list[Any], group: ProcessGroup) -> None:
    if len(values) != group.size():
        raise ArgumentError(
            f"{function}: a list of {len(values)} for {group.size()} processes", fix="make it as long as the group"
        )


def _gathered(obj: Any, group: ProcessGroup, dst: int | None = None) -> tuple[list[int], list[Tensor]]:
    """The lengths of the pickled objects of all processes, and the objects, in process *dst* or in all."""
    data = _bytes(obj)
    counts = [empty(1, dtype=int64) for _ in range(group.size())]
    all_gather(counts, tensor([data.numel()]), group)
    sizes = [int(count) for count in counts]
    padded = empty(max(sizes), dtype=uint8)
    padded[: data.numel()] = data
    if dst is None or group.rank() == dst:
        rows = [empty(max(sizes), dtype=uint8) for _ in sizes]
    else:
        rows = []
    if dst is None:
        all_gather(rows, padded, group)
    else:
        gather(padded, rows or None, group=group, group_dst=dst)
    return sizes, rows


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Put *obj* of process i into ``object_gather_list[i]`` of process *dst* (0 by default), which alone passes it."""
    members = resolve(group, "gather_object")
    if members is None:
        return
    root = root_of("gather_object", members, dst, group_dst, "dst", 0)
    if (members.rank() == root) != (object_gather_list is not None):
        raise ArgumentError(
            "gather_object: object_gather_list must be given by process dst and by no other",
            fix="pass it where rank == dst",
        )
    sizes, rows = _gathered(obj, members, root)
    if object_gather_list is not None:
        _check_length("gather_object", object_gather_list, members)
        object_gather_list[:] = [_object(row, size) for row, size in zip(rows, sizes)]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Give all processes the objects of *object_list* of process *src*, in place."""
    members = resolve(group, "broadcast_object_list")
    if members is None:
        return
    root = root_of("broadcast_object_list", members, src, group_src, "src", 0)
    parts = [_bytes(one) for one in object_list] if members.rank() == root else []
    sizes = tensor([part.numel() for part in parts]) if parts else empty(len(object_list), dtype=int64)
    broadcast(sizes, group=members, group_src=root)
    data = cat(parts) if parts else empty(int(sizes.sum()), dtype=uint8)
    broadcast(data, group=members, group_src=root)
    if members.rank() != root:
        _take_apart(object_list, data, sizes)


def _take_apart(values: list[Any], data: Tensor, sizes: Tensor) -> None:
    begin = 0
    for number, size in enumerate(sizes.tolist()):
        values[number] = _object(data[begin:], size)
        begin += size


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None,
    group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Put ``scatter_object_input_list[i]`` of process *src* into ``scatter_object_output_list[0]`` of process i."""
    members = resolve(group, "scatter_object_list")
    if members is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ArgumentError("scatter_object_list: the output must be a list of one or more", fix="pass [None]")
    root = root_of("scatter_object_list", members, src, group_src, "src", 0)
    parts = []
    if members.rank() == root:
        _check_length("scatter_object_list", scatter_object_input_list or [], members)
        parts = [_bytes(one) for one in scatter_object_input_list or []]
    longest = tensor([max((part.numel() for part in parts), default=0)])
    broadcast(longest, group=members, group_src=root)
    rows = []
    for part in parts:
        rows.append(empty(int(longest), dtype=uint8))
        rows[-1][: part.numel()] = part
    counts = [tensor([part.numel()]) for part in parts]
    count, data = empty(1, dtype=int64), empty(int(longest), dtype=uint8)
    scatter(count, counts or None, group=members, group_src=root)
    scatter(data, rows or None, group=members, group_src=root)
    scatter_object_output_list[0] = _object(data, int(count))


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Send the objects of a list to process *dst*."""
    parts = [_bytes(one) for one in object_list]
    send(tensor([part.numel() for part in parts]), dst, group, 0, group_dst)
    send(cat(parts), dst, group, 0, group_dst)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Receive a list of objects from process *src*, or from any, in place; the rank of the sender."""
    sizes = empty(len(object_list), dtype=int64)
    source = recv(sizes, src, group, 0, group_src)
    if source < 0:
        return source
    data = empty(int(sizes.sum()), dtype=uint8)
    recv(data, source, group, 0)
    _take_apart(object_list, data, sizes)
    return source
