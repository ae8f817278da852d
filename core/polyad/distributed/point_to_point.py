"""Messages from one process to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..tensor import Tensor
from .buffers import Outgoing, Receiving, check_tensor
from .collectives import root_of, start
from .groups import get_rank, resolve
from .work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send *tensor* to process *dst*. It must not be changed until the work has ended."""
    members = resolve(group, "isend")
    if members is None:
        return None
    check_tensor("isend", "tensor", tensor)
    to = root_of("isend", members, dst, group_dst, "dst")
    if to == members.rank():
        raise ArgumentError("isend: a process cannot send to itself", operands={"dst": dst}, fix="pass another rank")
    members.begin(f"send to rank {members.global_rank(to)}", tensor.dtype, tensor.shape)
    sent = Outgoing(members, [tensor])
    return start(members, members.engine.send(sent.memory, to, tag), True, None, sent, [tensor])


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive into *tensor* from process *src*, or from any."""
    members = resolve(group, "irecv")
    if members is None:
        return None
    check_tensor("irecv", "tensor", tensor)
    source = None if src is None and group_src is None else root_of("irecv", members, src, group_src, "src")
    whom = "any rank" if source is None else f"rank {members.global_rank(source)}"
    members.begin(f"recv from {whom}", tensor.dtype, tensor.shape)
    held = Receiving(members, [tensor])
    return start(members, members.engine.recv(held.memory, source, tag), True, held.finish, held, [tensor])


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send *tensor* to process *dst*, and wait until it may be changed again."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive into *tensor* from process *src*, or from any; the rank of the sender, -1 in a process that is no
    member.
    """
    work = irecv(tensor, src, group, tag, group_src)
    return -1 if work is None else work.source_rank()


@dataclass
class P2POp:
    """A message for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent, or received into.
        peer: the other process.
    """

    op: Callable[..., Any]
    tensor: Tensor
    peer: int | None = None
    group: Any = None
    tag: int = 0
    group_peer: int | None = None

    def __post_init__(self) -> None:
        if self.op not in (isend, irecv):
            raise ArgumentError("P2POp: op is neither isend nor irecv", fix="pass polyad.distributed.isend or irecv")


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin all messages of a list, in its order; their works.

    Raises:
        ValueError: the list is empty.
    """
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ArgumentError("batch_isend_irecv: p2p_op_list must be a list of P2POp that is not empty", fix="pass one")
    get_rank(p2p_op_list[0].group)
    works = [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]
    return [work for work in works if work is not None]
