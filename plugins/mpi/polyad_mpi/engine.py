"""Operations between processes, each by one call of MPI that does not wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from polyad import Tensor
from polyad.distributed.engine import Engine, Operation, World
from polyad.distributed.errors import DistBackendError
from polyad.distributed.reduce_ops import ReduceOp

from .joining import launched, mpi, world_of
from .reducing import datatype, operation

__all__ = ["MPIEngine"]

_CHUNK_BYTES = 1 << 20
"""A larger reduction is several of this size, which stay in the caches: a quarter of the time for 64 MB."""


def _test(request: Any, status: Any = None) -> bool:
    try:
        ended: bool = request.Test(status)
    except mpi().Exception as error:
        raise DistBackendError(
            "MPI refuses an operation: the ranks call other operations, or with other sizes",
            notes={"MPI": str(error).splitlines()[-1]},
            fix="let all ranks make the same calls; TORCH_DISTRIBUTED_DEBUG=DETAIL compares them",
        ) from error
    return ended


class _Request:
    """A request of MPI's. *finish* is called once, when it has ended; *keep* has to live as long."""

    __slots__ = ("_finish", "_keep", "_request", "_status", "source")

    def __init__(self, request: Any, keep: Any, finish: Callable[[], None] | None = None, status: Any = None) -> None:
        self._request, self._keep, self._finish, self._status = request, keep, finish, status
        self.source = -1

    def test(self) -> bool:
        """See `Operation`."""
        if self._request is None:
            return True
        if not _test(self._request, self._status):
            return False
        if self._status is not None:
            self.source = self._status.Get_source()
            sent, wanted = self._status.Get_count(mpi().BYTE), self._keep.numel() * self._keep.itemsize
            if sent != wanted:
                raise DistBackendError(
                    f"recv: rank {self.source} of the group sent {sent} bytes, and tensor takes {wanted}",
                    operands={"tensor": self._keep},
                    fix="receive into a tensor of the shape and dtype that is sent",
                )
        self._request = self._keep = None
        if self._finish is not None:
            self._finish()
        return True


class _Requests:
    """As `_Request`, for several that end in their order."""

    source = -1

    def __init__(self, requests: list[Any], keep: Any, finish: Callable[[], None] | None) -> None:
        self._requests, self._keep, self._finish = deque(requests), keep, finish

    def test(self) -> bool:
        """See `Operation`."""
        while self._requests:
            if not _test(self._requests[0]):
                return False
            self._requests.popleft()
        finish, self._finish, self._keep = self._finish, None, None
        if finish is not None:
            finish()
        return True


class MPIEngine(Engine):
    """Carries data by MPI between processes of one machine or many.

    Args:
        world: the processes; or a communicator of MPI's, for a smaller group.
    """

    name = "mpi"

    def __init__(self, world: World | Any) -> None:
        self._comm = world_of(world) if isinstance(world, World) else world
        self.rank, self.size = self._comm.rank, self._comm.size
        self._memory = mpi().memory.fromaddress

    @classmethod
    def share(cls, text: str | None) -> str:
        """See `Engine.share`."""
        if not launched():
            return super().share(text)
        shared: str = mpi().COMM_WORLD.bcast(text)
        return shared

    def split(self, ranks: Sequence[int], tag: int) -> MPIEngine:
        """See `Engine.split`."""
        chosen = self._comm.group.Incl(list(ranks))
        return MPIEngine(self._comm.Create_group(chosen, tag))

    def close(self, healthy: bool) -> None:
        """See `Engine.close`."""
        if healthy:
            self._comm.Free()

    # ------------------------------------------------------------------------------------------------------- memory

    def _numbers(self, tensor: Tensor) -> tuple[Any, int, Any]:
        """The memory of *tensor* as elements of its dtype."""
        count = tensor.numel()
        return self._memory(tensor.data_ptr(), count * tensor.itemsize), count, datatype(tensor.dtype)

    def _bytes(self, tensor: Tensor | None) -> tuple[Any, int, Any] | None:
        """The memory of *tensor* as bytes: what is only moved needs no dtype."""
        if tensor is None:
            return None
        size = tensor.numel() * tensor.itemsize
        return self._memory(tensor.data_ptr(), size), size, mpi().BYTE

    def _part(self, tensor: Tensor | None) -> tuple[Any, int, Any] | None:
        """The same, where MPI wants the size of the part of one process."""
        whole = self._bytes(tensor)
        return None if whole is None else (whole[0], whole[1] // self.size, whole[2])

    def _mean(self, tensor: Tensor, op: ReduceOp) -> Callable[[], None] | None:
        if op is not ReduceOp.AVG:
            return None

        def divide() -> None:
            if tensor.is_floating_point() or tensor.is_complex():
                tensor.div_(self.size)
            else:
                tensor.floor_divide_(self.size)

        return divide

    # --------------------------------------------------------------------------------------------------- operations

    def broadcast(self, tensor: Tensor, root: int) -> Operation:
        """See `Engine`."""
        return _Request(self._comm.Ibcast(self._bytes(tensor), root), tensor)

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Operation:
        """See `Engine`."""
        in_place, reducing = mpi().IN_PLACE, operation(tensor.dtype, op, "all_reduce")
        memory, count, kind = self._numbers(tensor)
        if count * tensor.itemsize <= _CHUNK_BYTES:
            request = self._comm.Iallreduce(in_place, (memory, count, kind), reducing)
            return _Request(request, tensor, self._mean(tensor, op))
        most = _CHUNK_BYTES // tensor.itemsize
        requests = [
            self._comm.Iallreduce(
                in_place, (memory[begin * tensor.itemsize :], min(most, count - begin), kind), reducing
            )
            for begin in range(0, count, most)
        ]
        return _Requests(requests, tensor, self._mean(tensor, op))

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Operation:
        """See `Engine`."""
        MPI, numbers, here = mpi(), self._numbers(tensor), self.rank == root
        sent, received = (MPI.IN_PLACE, numbers) if here else (numbers, None)
        request = self._comm.Ireduce(sent, received, operation(tensor.dtype, op, "reduce"), root)
        return _Request(request, tensor, self._mean(tensor, op) if here else None)

    def all_gather(self, output: Tensor, input: Tensor) -> Operation:
        """See `Engine`."""
        return _Request(self._comm.Iallgather(self._bytes(input), self._part(output)), (output, input))

    def gather(self, output: Tensor | None, input: Tensor, root: int) -> Operation:
        """See `Engine`."""
        return _Request(self._comm.Igather(self._bytes(input), self._part(output), root), (output, input))

    def scatter(self, output: Tensor, input: Tensor | None, root: int) -> Operation:
        """See `Engine`."""
        return _Request(self._comm.Iscatter(self._part(input), self._bytes(output), root), (output, input))

    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Operation:
        """See `Engine`."""
        memory, count, kind = self._numbers(input)
        request = self._comm.Ireduce_scatter_block(
            (memory, count // self.size, kind), self._numbers(output), operation(input.dtype, op, "reduce_scatter")
        )
        return _Request(request, (output, input), self._mean(output, op))

    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Operation:
        """See `Engine`."""
        sides = []
        for tensor, sizes in ((input, input_sizes), (output, output_sizes)):
            counts = [size * tensor.itemsize for size in sizes]
            memory, _, byte = self._bytes(tensor)  # type: ignore[misc]
            sides.append((memory, (counts, [0, *accumulate(counts)][:-1]), byte))
        return _Request(self._comm.Ialltoallv(*sides), (output, input))

    def send(self, tensor: Tensor, to: int, tag: int) -> Operation:
        """See `Engine`."""
        return _Request(self._comm.Isend(self._bytes(tensor), to, tag), tensor)

    def recv(self, tensor: Tensor, source: int | None, tag: int) -> Operation:
        """See `Engine`."""
        MPI = mpi()
        request = self._comm.Irecv(self._bytes(tensor), MPI.ANY_SOURCE if source is None else source, tag)
        return _Request(request, tensor, status=MPI.Status())

    def barrier(self) -> Operation:
        """See `Engine`."""
        return _Request(self._comm.Ibarrier(), None)
